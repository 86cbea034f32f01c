/** Puts the parts together. Nothing heavy is loaded here: what speaks to the server is, when it is started. */
import { type ExtensionContext, window, workspace } from "vscode";
import { ServerCalls } from "./calls";
import { registerDocuments } from "./documents/register";
import { registerServer } from "./server/register";

let stop: (() => Promise<void>) | undefined;

export function activate(context: ExtensionContext): void {
  const channel = window.createOutputChannel("openbuffer", { log: true });
  const server = registerServer(context, channel);
  const { connection } = server;
  const calls = new ServerCalls(connection, (error) => channel.error(String(error)));
  context.subscriptions.push(channel, server, calls, registerDocuments(connection, server.synced));
  stop = () => connection.dispose();
  if (workspace.getConfiguration("openbuffer.server").get("autoStart", true)) {
    connection.start().catch(() => {}); // told by the state
  }
}

export async function deactivate(): Promise<void> {
  await stop?.();
}
