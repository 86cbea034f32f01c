/** What can be wrong with the server, for people, each with what they can do about it. */
import type { Problem, ProblemAction } from "../connection";

const INSTALL: ProblemAction = { title: "Install Server…", command: "openbuffer.installServer" };
const RESTART: ProblemAction = { title: "Restart", command: "openbuffer.restartServer" };
const OUTPUT: ProblemAction = { title: "Show Output", command: "openbuffer.showOutput" };
const SETTINGS: ProblemAction = {
  title: "Open Settings",
  command: "workbench.action.openSettings",
  arguments: ["openbuffer.server"],
};

/** A problem that trying again does not solve. */
export class ServerProblem extends Error implements Problem {
  override name = "ServerProblem";

  constructor(
    message: string,
    readonly actions: readonly ProblemAction[],
    readonly isOnlyMissing = false,
  ) {
    super(message);
  }
}

/** `hasOlder`: the user agreed to an installation that came with an earlier version of the extension. */
export function notFound(hasOlder: boolean): ServerProblem {
  const message = hasOlder
    ? "openbuffer was updated, and its server is to be installed anew."
    : "openbuffer needs its server, a Python program, and did not find it: it is not on PATH, and in no active Python environment.";
  return new ServerProblem(message, [INSTALL, SETTINGS], true);
}

export function notStarted(command: readonly string[], why: string): ServerProblem {
  return new ServerProblem(`The openbuffer server could not be started (${command[0]}): ${why}`, [SETTINGS, INSTALL]);
}

/** Another server, from another place, may do. */
export class OtherProtocolProblem extends ServerProblem {}

export function otherProtocol(spoken: string, ours: number, from: string): ServerProblem {
  return new OtherProtocolProblem(
    `The openbuffer server from ${from} speaks version ${spoken} of the protocol, and this extension version ${ours}. Update the older of the two.`,
    [INSTALL, SETTINGS],
  );
}

/** It ended again and again. */
export function keepsEnding(times: number, last: string): ServerProblem {
  return new ServerProblem(`The openbuffer server ended ${times} times in a row. The last time: ${last}`, [
    RESTART,
    OUTPUT,
    INSTALL,
  ]);
}

/** It ended, and is being started again. */
export function ended(why: string): Problem {
  return { message: `The openbuffer server ended and is started again: ${why}`, actions: [OUTPUT] };
}
