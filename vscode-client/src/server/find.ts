/** Where the server is: the setting, PATH, the Python environments, the environment of this extension; in this order. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

const WINDOWS = process.platform === "win32";

export interface FoundServer {
  /** Program and arguments, with `serve`. */
  readonly command: readonly string[];
  /** In words. */
  readonly from: string;
}

/** A Python environment, by its interpreter. */
export interface Interpreter {
  readonly path: string;
  readonly from: string;
}

export interface Places {
  /** The setting, as it came. */
  readonly setting: unknown;
  readonly arguments: readonly string[];
  /** The value of PATH. */
  readonly path: string;
  /** Nothing in these is run, since a repository must not choose that; empty where the workspace is trusted. */
  readonly excluded: readonly string[];
  /** The program of the environment that this extension makes. */
  readonly own: string;
  /** Asked last, because it may take a while. */
  interpreters(): Promise<readonly Interpreter[]>;
}

export async function findServer(places: Places): Promise<FoundServer | undefined> {
  for await (const found of findServers(places)) {
    return found;
  }
  return undefined;
}

/** One after the other, for whoever cannot use the first. What the user has set is the only one. */
export async function* findServers(places: Places): AsyncGenerator<FoundServer> {
  const set = fromSetting(places.setting);
  if (set !== undefined) {
    yield found(set, "the setting openbuffer.server.command", places);
    return;
  }
  const onPath = await findOnPath("openbuffer", places.path, places.excluded);
  if (onPath !== undefined) {
    yield found([onPath], "PATH", places);
  }
  for (const interpreter of await places.interpreters()) {
    const program = path.join(path.dirname(interpreter.path), executable("openbuffer"));
    if (!isExcluded(program, places.excluded) && (await isProgram(program))) {
      yield found([program], interpreter.from, places);
    }
  }
  if (await isProgram(places.own)) {
    yield found([places.own], "the environment of this extension", places);
  }
}

/** A program by its name, in the directories of PATH; relative ones do not count. */
export async function findOnPath(
  name: string,
  searchPath: string,
  excluded: readonly string[] = [],
): Promise<string | undefined> {
  for (const directory of searchPath.split(path.delimiter)) {
    const program = path.join(directory, executable(name));
    if (path.isAbsolute(directory) && !isExcluded(program, excluded) && (await isProgram(program))) {
      return program;
    }
  }
  return undefined;
}

export function executable(name: string): string {
  return WINDOWS ? `${name}.exe` : name;
}

/** Where the programs of a Python environment are. */
export function programsOf(environment: string): string {
  return path.join(environment, WINDOWS ? "Scripts" : "bin");
}

/** The setting as a command; undefined where it is not set. */
function fromSetting(value: unknown): readonly string[] | undefined {
  const words = typeof value === "string" ? [value] : value;
  if (!Array.isArray(words) || words.length === 0 || !words.every((word) => typeof word === "string")) {
    return undefined;
  }
  const [program = "", ...rest] = words as string[];
  return program.trim() === "" ? undefined : [program.trim().replace(/^~(?=[\\/])/, homedir()), ...rest];
}

function found(command: readonly string[], from: string, places: Places): FoundServer {
  const serving = command.includes("serve") ? command : [...command, "serve"];
  return { command: [...serving, ...places.arguments], from };
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

function isExcluded(file: string, excluded: readonly string[]): boolean {
  return excluded.some((directory) => {
    const relative = path.relative(directory, file);
    return relative !== "" && !relative.startsWith("..") && !path.isAbsolute(relative);
  });
}
