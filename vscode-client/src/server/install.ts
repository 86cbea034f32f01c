/** Makes the private environment: with the user's consent to the very commands, with progress, and so that it can be cancelled. */
import { type ExtensionContext, type LogOutputChannel, ProgressLocation, window } from "vscode";
import { bundledWheel, type Installation, inWords, PrivateEnvironments } from "./environment";

export async function privateEnvironments(context: ExtensionContext): Promise<PrivateEnvironments | undefined> {
  const wheel = await bundledWheel(context.extensionUri.fsPath);
  return wheel === undefined ? undefined : new PrivateEnvironments(context.globalStorageUri.fsPath, wheel);
}

/** Whether it is there afterwards. Tells the user what went wrong. */
export async function installServer(
  context: ExtensionContext,
  channel: LogOutputChannel,
  excluded: readonly string[],
): Promise<boolean> {
  const environments = await privateEnvironments(context);
  if (environments === undefined) {
    void window.showErrorMessage(
      "This build of the extension brings no server. Install openbuffer with pip, and set openbuffer.server.command.",
    );
    return false;
  }
  try {
    const installation = await environments.plan(process.env.PATH ?? "", excluded);
    return (await isAgreed(installation)) && (await install(environments, installation, channel));
  } catch (error) {
    tell(`The server cannot be installed: ${error instanceof Error ? error.message : String(error)}`, channel);
    return false;
  }
}

async function isAgreed(installation: Installation): Promise<boolean> {
  const agreed = "Install";
  const commands = installation.steps.map((step) => `${inWords(step)}`).join("\n\n");
  const answer = await window.showInformationMessage(
    "Install the openbuffer server into an environment of its own?",
    {
      modal: true,
      detail: `It lies in ${installation.directory} and changes nothing elsewhere. The server comes with this extension; the packages that it needs are downloaded from the package index that pip or uv uses here. These commands are run:\n\n${commands}`,
    },
    agreed,
  );
  return answer === agreed;
}

async function install(
  environments: PrivateEnvironments,
  installation: Installation,
  channel: LogOutputChannel,
): Promise<boolean> {
  return window.withProgress(
    { location: ProgressLocation.Notification, title: "Installing the openbuffer server", cancellable: true },
    async (progress, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      let number = 0;
      try {
        await environments.install(
          installation,
          (words) => {
            number += 1;
            channel.info(`Installing: ${words}`);
            progress.report({ message: `step ${number} of ${installation.steps.length}` });
          },
          abort.signal,
        );
        channel.info(`Installed into ${installation.directory}`);
        return true;
      } catch (error) {
        if (abort.signal.aborted) {
          channel.info("The installation was cancelled.");
        } else {
          tell(`The server could not be installed: ${error instanceof Error ? error.message : String(error)}`, channel);
        }
        return false;
      }
    },
  );
}

function tell(message: string, channel: LogOutputChannel): void {
  channel.error(message);
  const show = "Show Output";
  void window.showErrorMessage(message.slice(0, 400), show).then((answer) => {
    if (answer === show) {
      channel.show();
    }
  });
}
