/** Puts the parts together. Nothing heavy is loaded here: what speaks to the server is, when it is started. */
import { type ExtensionContext, window, workspace } from "vscode";
import { createApi, type OpenbufferApi } from "./api";
import { ServerCalls } from "./calls";
import { registerDialogs } from "./dialogs/dialogs";
import { registerDocuments } from "./documents/register";
import { registerLanguageModelTools } from "./languageModelTools/register";
import { registerServer } from "./server/register";
import { registerViews } from "./views/views";

let stop: (() => Promise<void>) | undefined;

export function activate(context: ExtensionContext): OpenbufferApi {
  const channel = window.createOutputChannel("openbuffer", { log: true });
  const server = registerServer(context, channel);
  const { connection } = server;
  const calls = new ServerCalls(connection, (error) => channel.error(String(error)));
  const dialogs = registerDialogs(connection);
  const views = registerViews(connection, calls, dialogs, server.program, server.settings);
  const tools = registerLanguageModelTools(context, calls, () => views.configuration.permissions());
  const documents = registerDocuments(connection, server.synced);
  context.subscriptions.push(channel, server, calls, documents, dialogs, views, tools);
  stop = () => connection.dispose();
  if (workspace.getConfiguration("openbuffer.server").get("autoStart", true)) {
    connection.start().catch(() => {}); // told by the state
  }
  return createApi(connection, calls);
}

export async function deactivate(): Promise<void> {
  await stop?.();
}
