import { homedir } from "node:os";
import type { Surroundings } from "../config/configSources.ts";
import { nearestName } from "../config/nearestName.ts";
import { helpText } from "./helpText.ts";
import { readPassword } from "./readPassword.ts";
import { packageVersion } from "./version.ts";

const COMMANDS = ["start", "wallet", "data", "import-kdf", "demo", "devnet", "chain"] as const;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`swapnode: ${line}\n`);

/** The heavy modules are loaded only by the command that needs them: `--version` answers at once. */
async function run(command: (typeof COMMANDS)[number], at: Surroundings): Promise<number> {
  switch (command) {
    case "start": {
      const { startCommand } = await import("./startCommand.ts");
      return startCommand(at, () => import("./compose.ts"), complain);
    }
    case "wallet": {
      const { walletCommand } = await import("./walletCommand.ts");
      return walletCommand(at.args, at, { print, complain, readPassword });
    }
    case "data":
      return (await import("./dataCommand.ts")).dataCommand(at.args, at, { print, complain });
    case "import-kdf":
      return (await import("./importKdfCommand.ts")).importKdfCommand(at, { print, complain });
    case "demo":
      return (await import("../devnet/demo.ts")).main(at.args);
    case "devnet":
      return (await import("../devnet/main.ts")).main(at.args);
    case "chain":
      return (await import("../chain/main.ts")).main(at.args);
  }
}

/** What follows `start`: options belong into the configuration, and a second argument has no meaning. */
const isMisused = ([first, ...more]: readonly string[]): boolean =>
  more.length > 0 || (first !== undefined && first !== "-" && first.startsWith("-"));

/**
 * The `swapnode` command. KDF's habits hold: without a command the first argument is the configuration, and without
 * any argument the configuration is looked for.
 *
 * @param args after the program's name
 * @returns the exit code: 0 good, 1 refused or crashed, 2 wrong usage, 3 done but something needs looking at
 */
export async function runCli(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args;
  if (first === "--version" || first === "-v") {
    print(`swapnode ${packageVersion()}`);
    return 0;
  }
  const hasOwnHelp = first === "demo" || first === "devnet" || first === "chain";
  if (first === "--help" || first === "-h" || (!hasOwnHelp && (rest.includes("--help") || rest.includes("-h")))) {
    print(helpText(packageVersion()));
    return 0;
  }
  const at = (left: readonly string[]): Surroundings => ({ args: left, env: process.env, cwd: process.cwd(), home: homedir(), stdin: 0 });
  const command = COMMANDS.find((name) => name === first);
  if (isMisused(command === "start" ? rest : command === undefined && /^\s*[-{]/.test(first ?? "") ? args : [])) {
    complain(`start takes at most one argument, the configuration as JSON or - for standard input (see swapnode --help)`);
    return 2;
  }
  if (command !== undefined) return run(command, at(rest));
  if (first === undefined || first === "-" || first.trimStart().startsWith("{")) return run("start", at(args));
  const near = nearestName(first, COMMANDS);
  complain(`unknown command ${JSON.stringify(first.slice(0, 40))}${near === null ? "" : `: did you mean ${near}?`} (see swapnode --help)`);
  return 2;
}
