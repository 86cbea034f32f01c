/** The private environment: a virtual environment of Python in the extension's storage, made from the wheel that it brings. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { executable, findOnPath, programsOf } from "./find";

const run = promisify(execFile);

const PYTHONS = ["python3.13", "python3.12", "python3.11", "python3", "python"];
const OUTPUT_MAX_CHARS = 2_000;
const READY = "openbuffer-ready";

export type Step = readonly [program: string, ...rest: string[]];

export interface Wheel {
  /** Its file. */
  readonly file: string;
  readonly sha256: string;
}

/** What an installation would do. */
export interface Installation {
  readonly directory: string;
  readonly steps: readonly Step[];
}

/** The wheel that the extension brings; undefined where it was packed without one. */
export async function bundledWheel(extension: string): Promise<Wheel | undefined> {
  const directory = path.join(extension, "wheel");
  try {
    const { file, sha256 } = JSON.parse(await readFile(path.join(directory, "wheel.json"), "utf8"));
    return { file: path.join(directory, file), sha256 };
  } catch {
    return undefined;
  }
}

export class PrivateEnvironments {
  constructor(
    private readonly storage: string,
    private readonly wheel: Wheel,
  ) {}

  /** Each wheel has an environment of its own: what runs is never changed under its feet. */
  get directory(): string {
    return path.join(this.storage, `server-${this.wheel.sha256.slice(0, 12)}`);
  }

  /** The server's program, whether or not it is there; one that was not made to the end is none. */
  get program(): string {
    const name = existsSync(path.join(this.directory, READY)) ? "openbuffer" : "openbuffer-not-ready";
    return path.join(programsOf(this.directory), executable(name));
  }

  /** Whether there is one of another wheel, which was made with the user's consent before an update. */
  async hasOlder(): Promise<boolean> {
    return (await this.#others()).some((name) => existsSync(path.join(this.storage, name, READY)));
  }

  /**
   * The commands that make it.
   *
   * @throws Error where there is neither uv nor a Python that is new enough.
   */
  async plan(searchPath: string, excluded: readonly string[] = []): Promise<Installation> {
    const { directory } = this;
    const inside = path.join(programsOf(directory), executable("python"));
    const uv = await findOnPath("uv", searchPath, excluded);
    if (uv !== undefined) {
      return {
        directory,
        steps: [
          [uv, "venv", "--clear", "--no-project", "--python", ">=3.11", directory],
          [uv, "pip", "install", "--python", inside, this.wheel.file],
        ],
      };
    }
    const python = await newEnoughPython(searchPath, excluded);
    if (python === undefined) {
      throw new Error(
        "neither uv nor a Python of version 3.11 or newer is on PATH. Install one of them, or set openbuffer.server.command",
      );
    }
    if (await succeeds([python, "-c", "import ensurepip"])) {
      return {
        directory,
        steps: [
          [python, "-m", "venv", "--clear", directory],
          [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", this.wheel.file],
        ],
      };
    }
    if (!(await succeeds([python, "-c", "import pip, venv"]))) {
      throw new Error(
        `${python} can make no environment that has packages (on Debian and Ubuntu install python3-venv), and uv is not on PATH`,
      );
    }
    return {
      directory,
      steps: [
        [python, "-m", "venv", "--clear", "--without-pip", directory],
        [python, "-m", "pip", "--python", inside, "install", "--quiet", this.wheel.file],
      ],
    };
  }

  /**
   * Make it.
   *
   * @throws Error with what a step said where it failed; nothing of it counts then. AbortError where it was cancelled.
   */
  async install(installation: Installation, onStep: (words: string) => void, signal: AbortSignal): Promise<void> {
    await mkdir(this.storage, { recursive: true });
    await rm(path.join(installation.directory, READY), { force: true });
    for (const step of installation.steps) {
      onStep(inWords(step));
      await carriedOut(step, this.storage, signal);
    }
    await writeFile(path.join(installation.directory, READY), "");
    for (const name of await this.#others()) {
      await rm(path.join(this.storage, name), { recursive: true, force: true }).catch(() => {});
    }
  }

  async #others(): Promise<string[]> {
    try {
      const names = await readdir(this.storage);
      return names.filter((name) => name.startsWith("server-") && name !== path.basename(this.directory));
    } catch {
      return [];
    }
  }
}

/** A command as one would type it. */
export function inWords(step: Step): string {
  return step.map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

async function newEnoughPython(searchPath: string, excluded: readonly string[]): Promise<string | undefined> {
  for (const name of PYTHONS) {
    const python = await findOnPath(name, searchPath, excluded);
    const check = "import sys; sys.exit(sys.version_info < (3, 11))";
    if (python !== undefined && (await succeeds([python, "-c", check]))) {
      return python;
    }
  }
  return undefined;
}

async function succeeds([program, ...rest]: Step): Promise<boolean> {
  try {
    await run(program, rest, { timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

async function carriedOut(step: Step, cwd: string, signal: AbortSignal): Promise<void> {
  const [program, ...rest] = step;
  try {
    await run(program, rest, { cwd, signal, timeout: 15 * 60_000, maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    if (signal.aborted) {
      throw error;
    }
    const { stderr = "", stdout = "", message } = error as Error & { stderr?: string; stdout?: string };
    const said = `${stderr}\n${stdout}`.trim() || message;
    throw new Error(`${inWords(step)} failed: ${said.slice(-OUTPUT_MAX_CHARS)}`);
  }
}
