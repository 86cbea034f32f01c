/** The server's process: how it is started, what it said last, and how it ends. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { homedir } from "node:os";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

const TAIL_LINES = 12;
const TAIL_MAX_CHARS = 1_500;
const LINE_MAX_CHARS = 2_000;
const GRACE_MS = 3_000;
const DRAINED_MS = 1_000;

export interface ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves once with how it ended, in words; never rejects. */
  readonly ended: Promise<string>;
  /** By force, after a moment. */
  kill(): Promise<void>;
}

/**
 * Start the server.
 *
 * @throws Error where there is no such program, or it cannot be run.
 */
export async function startProcess(
  command: readonly string[],
  environment: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Promise<ServerProcess> {
  const [program = "", ...rest] = command;
  const child = spawn(program, rest, {
    // No folder of a workspace, from which programs and modules could come.
    cwd: homedir(),
    env: environment,
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  const tail: string[] = [];
  createInterface({ input: child.stderr }).on("line", (raw) => {
    const line = stripVTControlCharacters(raw).slice(0, LINE_MAX_CHARS);
    tail.push(line);
    tail.splice(0, tail.length - TAIL_LINES);
    onLine(line);
  });
  // A server that ended takes nothing; that it ended is told elsewhere.
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {});
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      const tell = () => resolve(howItEnded(code, signal, tail));
      // What it said last is read before; but a process that it left behind may hold its streams open.
      const late = setTimeout(tell, DRAINED_MS);
      child.once("close", () => {
        clearTimeout(late);
        tell();
      });
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", () => resolve());
    child.once("error", reject);
  });
  child.on("error", () => {});
  return {
    child,
    ended,
    async kill() {
      const late = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(late);
    },
  };
}

/** The server's environment: this process's, without what is only for the editor's own processes. */
export function environmentOf(
  own: NodeJS.ProcessEnv,
  further: Readonly<Record<string, string | null>>,
): NodeJS.ProcessEnv {
  const kept = Object.entries(own).filter(([name]) => !/^(ELECTRON_|VSCODE_)/.test(name));
  const environment: NodeJS.ProcessEnv = Object.fromEntries(kept);
  for (const [name, value] of Object.entries(further)) {
    if (value === null) {
      delete environment[name];
    } else {
      environment[name] = String(value);
    }
  }
  return environment;
}

function howItEnded(code: number | null, signal: string | null, tail: readonly string[]): string {
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
  const said = tail.join("\n").trim().slice(-TAIL_MAX_CHARS);
  return said === "" ? how : `${how}. It said: ${said}`;
}
