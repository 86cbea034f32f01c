import { describe, expect, it } from "vitest";
import { environmentOf, startProcess } from "../src/server/process";

const NODE = process.execPath;

function started(script: string) {
  const lines: string[] = [];
  return startProcess([NODE, "-e", script], process.env, (line) => lines.push(line)).then((server) => ({
    server,
    lines,
  }));
}

describe("a process", () => {
  it("that ends says how, and what it said last", async () => {
    const { server, lines } = await started("console.error('\\x1b[31mno module\\x1b[0m'); process.exit(3)");
    expect(await server.ended).toBe("exit code 3. It said: no module");
    expect(lines).toEqual(["no module"]);
  });

  it("that was killed says by which signal", async () => {
    const { server } = await started("setInterval(() => {}, 1000)");
    server.child.kill("SIGKILL");
    expect(await server.ended).toBe("signal SIGKILL");
  });

  it("is ended when it is to end, also more than once", async () => {
    const { server } = await started("setInterval(() => {}, 1000)");
    await Promise.all([server.kill(), server.kill()]);
    expect(await server.ended).toBe("signal SIGTERM");
  });

  it("that has much to say is quoted in short", async () => {
    const { server } = await started(
      "for (let i = 0; i < 5000; i++) console.error('x'.repeat(500) + i); process.exitCode = 1",
    );
    const why = await server.ended;
    expect(why.length).toBeLessThan(1_600);
    expect(why).toContain("4999");
  });

  it("that left another one behind which holds its streams has ended all the same", async () => {
    const spawning = "require('node:child_process').spawn('sleep', ['600'], { stdio: 'inherit', detached: true })";
    const { server } = await started(
      `const left = ${spawning}; left.unref(); console.error(left.pid); process.exitCode = 4`,
    );
    const why = await server.ended;
    expect(why).toMatch(/^exit code 4\. It said: \d+$/);
    process.kill(Number(why.split(" ").at(-1)), "SIGKILL");
  });

  it("of a program that is not there cannot be started", async () => {
    await expect(startProcess(["/nowhere/openbuffer"], process.env, () => {})).rejects.toThrow(/ENOENT/);
  });

  it("does not run in a folder of a workspace", async () => {
    const { server } = await started("console.error(process.cwd()); process.exit(1)");
    expect(await server.ended).toContain(process.env.HOME ?? "");
  });
});

it("the editor's own variables are not for the server, and the setting adds and takes away", () => {
  const own = { PATH: "/bin", VSCODE_PID: "1", ELECTRON_RUN_AS_NODE: "1", SECRET: "s" };
  expect(environmentOf(own, { SECRET: null, BRAVE_API_KEY: "k" })).toEqual({ PATH: "/bin", BRAVE_API_KEY: "k" });
});
