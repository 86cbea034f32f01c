/** The server's program with other subcommands than `serve`: its log, its doctor, its settings. */
import { execFile } from "node:child_process";
import { homedir } from "node:os";

/** Where the program is; the composition root knows it. */
export interface ProgramPlace {
  /** The command line of the server, with `serve`. Rejects where there is none. */
  command(): Promise<readonly string[]>;
  environment(): NodeJS.ProcessEnv;
}

export interface ProgramAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

export class ServerProgram {
  constructor(private readonly place: ProgramPlace) {}

  /** The command line of a subcommand. `--config` of the server counts for those that take it. */
  async commandOf(subcommand: readonly string[], takesConfig = false): Promise<readonly string[]> {
    const command = await this.place.command();
    return subcommandOf(command, subcommand, takesConfig);
  }

  get environment(): NodeJS.ProcessEnv {
    return this.place.environment();
  }

  /**
   * Run a subcommand to its end, in no directory of a workspace.
   *
   * @throws Error where there is no program, or it did not end in time.
   */
  async run(subcommand: readonly string[], timeoutMs = 20_000, takesConfig = false): Promise<ProgramAnswer> {
    const [program = "", ...words] = await this.commandOf(subcommand, takesConfig);
    return new Promise((resolve, reject) => {
      const options = {
        cwd: homedir(),
        env: this.place.environment(),
        timeout: timeoutMs,
        maxBuffer: OUTPUT_MAX_BYTES,
        windowsHide: true,
      };
      execFile(program, words, options, (error, stdout, stderr) => {
        if (error && typeof error.code !== "number") {
          reject(new Error(error.killed ? `${program} ${words[0]} did not end in time` : error.message));
        } else {
          resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
        }
      });
    });
  }
}

/** Another subcommand in the place of `serve` and its arguments. Pure. */
export function subcommandOf(
  serving: readonly string[],
  subcommand: readonly string[],
  takesConfig: boolean,
): readonly string[] {
  const at = serving.indexOf("serve");
  const program = at < 0 ? serving : serving.slice(0, at);
  const rest = at < 0 ? [] : serving.slice(at + 1);
  const [first = "", ...words] = subcommand;
  const config = rest.indexOf("--config");
  const file = config < 0 ? rest.find((word) => word.startsWith("--config=")) : undefined;
  const configured = config >= 0 ? rest.slice(config, config + 2) : file ? [file] : [];
  return [...program, first, ...(takesConfig ? configured : []), ...words];
}
