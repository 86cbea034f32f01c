/** Puts the server together with this window: where it is looked for, what it is told, the commands, and what is said when it fails. */
import { commands, Disposable, type ExtensionContext, type LogOutputChannel, window, workspace } from "vscode";
import type { ProblemAction } from "../connection";
import type { SyncedDocuments } from "../documents/synced";
import { TRUST_CHANGED } from "../protocol";
import { serverKeys, serverSettings } from "../settings";
import type { ProgramPlace } from "../views/program";
import { type FoundServer, findServer, findServers, type Places } from "./find";
import { notFound, OtherProtocolProblem, type ServerProblem } from "./problems";
import { environmentOf } from "./process";
import type { Launch } from "./session";
import { Supervisor } from "./supervisor";

const SILENT = "openbuffer.doNotAskToInstall";

export interface Server extends Disposable {
  readonly connection: Supervisor;
  /** The documents of the run that goes on now. */
  synced(): SyncedDocuments | undefined;
  /** Where its program is, also while it does not run. */
  readonly program: ProgramPlace;
  /** The server's settings, as they are set now. */
  settings(): Record<string, unknown>;
}

export function registerServer(context: ExtensionContext, channel: LogOutputChannel): Server {
  let synced: SyncedDocuments | undefined;
  const connection = new Supervisor(
    launcher(context, channel, (documents) => {
      synced = documents;
    }),
    channel,
  );
  const subscriptions = Disposable.from(
    problems(context, connection),
    workspace.onDidGrantWorkspaceTrust(() => {
      if (connection.state === "running") {
        connection.notify(TRUST_CHANGED, { trusted: true });
      } else if (connection.state === "failed") {
        connection.start().catch(() => {}); // there may be one now: it is told by the state
      }
    }),
    workspace.onDidChangeConfiguration((event) => {
      const isOther = ["command", "arguments", "environment", "usePythonEnvironment"].some((name) =>
        event.affectsConfiguration(`openbuffer.server.${name}`),
      );
      if (isOther && connection.state !== "stopped") {
        connection.restart().catch(() => {}); // told by the state
      }
    }),
    commands.registerCommand("openbuffer.restartServer", () => connection.restart().catch(() => {})), // told by the state
    commands.registerCommand("openbuffer.stopServer", () => connection.stop()),
    commands.registerCommand("openbuffer.showOutput", () => channel.show()),
    commands.registerCommand("openbuffer.installServer", async () => {
      const { installServer } = await import("./install");
      const isThere = await installServer(context, channel, excluded());
      if (isThere) {
        await connection.restart().catch(() => {}); // told by the state
      }
      return isThere;
    }),
  );
  return {
    connection,
    synced: () => synced,
    program: {
      command: async () => connection.server?.command ?? (await locate(context)).command,
      environment,
    },
    settings: () => serverSettings(serverKeys(contributedSettings(context)), setByUser),
    dispose: () => subscriptions.dispose(),
  };
}

function launcher(
  context: ExtensionContext,
  channel: LogOutputChannel,
  setSynced: (documents: SyncedDocuments) => void,
): Launch {
  return async (inbox, signal) => {
    const { places, hasOlder } = await placesOf(context);
    const { startSession } = await import("../client");
    const keys = serverKeys(contributedSettings(context));
    const clientContext = {
      channel,
      environment: environment(),
      isTrusted: () => workspace.isTrusted,
      settings: () => serverSettings(keys, setByUser),
      synced: setSynced,
    };
    let problem: ServerProblem | undefined;
    for await (const found of findServers(places)) {
      try {
        return await startSession(found, inbox, clientContext, signal);
      } catch (error) {
        if (!(error instanceof OtherProtocolProblem)) {
          throw error;
        }
        channel.warn(error.message);
        problem ??= error;
      }
    }
    throw problem ?? notFound(hasOlder);
  };
}

/** Find the server; rejects with a problem where there is none. */
async function locate(context: ExtensionContext): Promise<FoundServer> {
  const { places, hasOlder } = await placesOf(context);
  const found = await findServer(places);
  if (found === undefined) {
    throw notFound(hasOlder);
  }
  return found;
}

/** `hasOlder`: a private environment was made for an earlier version of this extension. */
async function placesOf(context: ExtensionContext): Promise<{ places: Places; hasOlder: boolean }> {
  const settings = workspace.getConfiguration("openbuffer.server");
  const { privateEnvironments } = await import("./install");
  const own = await privateEnvironments(context);
  const places: Places = {
    setting: settings.get("command"),
    arguments: settings.get<string[]>("arguments", []),
    path: environment().PATH ?? "",
    excluded: excluded(),
    own: own?.program ?? "",
    interpreters: async () => {
      if (!settings.get("usePythonEnvironment", true)) {
        return [];
      }
      const { activeInterpreters } = await import("./python");
      return activeInterpreters(workspace.isTrusted, environment());
    },
  };
  return { places, hasOlder: (await own?.hasOlder()) === true };
}

/** The environment of the server's process, and of its program with other subcommands. */
function environment(): NodeJS.ProcessEnv {
  const further = workspace.getConfiguration("openbuffer.server").get<Record<string, string | null>>("environment", {});
  return environmentOf(process.env, further);
}

/** Folders whose programs are not run. */
function excluded(): string[] {
  const folders = workspace.isTrusted ? [] : (workspace.workspaceFolders ?? []);
  return folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
}

function contributedSettings(context: ExtensionContext): string[] {
  const { contributes } = context.extension.packageJSON as {
    contributes: { configuration: { properties: object }[] };
  };
  return contributes.configuration.flatMap(({ properties }) => Object.keys(properties));
}

/** What the user has set, on this machine; a workspace has no say in it. */
function setByUser(key: string): unknown {
  const values = workspace.getConfiguration("openbuffer").inspect(key);
  return values?.globalValue;
}

/** Each problem is told once, until the server has run. */
function problems(context: ExtensionContext, connection: Supervisor): Disposable {
  let told: string | undefined;
  return connection.onDidChangeState((state) => {
    if (state === "running") {
      told = undefined;
    } else if (state === "failed" && connection.problem?.message !== told) {
      told = connection.problem?.message;
      void tellProblem(context, connection);
    }
  });
}

async function tellProblem(context: ExtensionContext, connection: Supervisor): Promise<void> {
  const { problem } = connection;
  if (problem === undefined || (problem.isOnlyMissing && context.globalState.get(SILENT))) {
    return;
  }
  const never: ProblemAction = { title: "Don't Ask Again", command: "" };
  const actions = problem.isOnlyMissing ? [...problem.actions, never] : problem.actions;
  const show = problem.isOnlyMissing ? window.showInformationMessage : window.showErrorMessage;
  const chosen = await show(problem.message, ...actions.map(({ title }) => title));
  const action = actions.find(({ title }) => title === chosen);
  if (action === never) {
    await context.globalState.update(SILENT, true);
  } else if (action !== undefined) {
    await commands.executeCommand(action.command, ...(action.arguments ?? []));
  }
}
