/** The Python environments that are active in this window, by what the Python extension says, else by the settings. */
import path from "node:path";
import { type Extension, extensions, workspace } from "vscode";
import type { Interpreter } from "./find";

const ANSWER_MS = 10_000;

/** The part of the Python extension's API that is used. */
interface PythonApi {
  environments?: {
    getActiveEnvironmentPath(resource?: unknown): { readonly path: string } | undefined;
    resolveEnvironment(
      environment: unknown,
    ): Promise<{ readonly executable?: { readonly uri?: { readonly fsPath: string } } } | undefined>;
  };
}

/** The interpreters, likeliest first. `isTrusted`: settings of the workspace count too. */
export async function activeInterpreters(isTrusted: boolean, environment: NodeJS.ProcessEnv): Promise<Interpreter[]> {
  const found: Interpreter[] = [];
  const add = (file: string | undefined, from: string) => {
    if (file !== undefined && path.isAbsolute(file) && !found.some((known) => known.path === file)) {
      found.push({ path: file, from });
    }
  };
  const extension = extensions.getExtension<PythonApi>("ms-python.python");
  // Which one is active, a workspace may have said.
  if (extension !== undefined && isTrusted) {
    add(await withinTime(ofExtension(extension)), "the active Python environment");
  }
  add(ofSettings(isTrusted), "the setting python.defaultInterpreterPath");
  const active = environment.VIRTUAL_ENV;
  add(active === undefined ? undefined : path.join(active, binaries(), "python"), "the environment of $VIRTUAL_ENV");
  return found;
}

async function ofExtension(extension: Extension<PythonApi>): Promise<string | undefined> {
  const { environments } = extension.isActive ? extension.exports : await extension.activate();
  const folder = workspace.workspaceFolders?.[0]?.uri;
  const active = environments?.getActiveEnvironmentPath(folder);
  if (environments === undefined || active === undefined) {
    return undefined;
  }
  const resolved = await environments.resolveEnvironment(active);
  return resolved?.executable?.uri?.fsPath ?? active.path;
}

function ofSettings(isTrusted: boolean): string | undefined {
  const folder = workspace.workspaceFolders?.[0]?.uri;
  const values = workspace.getConfiguration("python", folder).inspect<string>("defaultInterpreterPath");
  const ofWorkspace = isTrusted ? (values?.workspaceFolderValue ?? values?.workspaceValue) : undefined;
  const value = ofWorkspace ?? values?.globalValue;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a variable of VS Code's settings
  return value?.replaceAll("${workspaceFolder}", folder?.fsPath ?? "");
}

function binaries(): string {
  return process.platform === "win32" ? "Scripts" : "bin";
}

/** An extension that does not answer is none. */
async function withinTime<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ANSWER_MS);
  });
  return Promise.race([work.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
