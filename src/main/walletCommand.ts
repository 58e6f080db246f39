import { isAbsolute, join } from "node:path";
import { parseArgs } from "node:util";
import { setPrivateUmask } from "../adapters/system/dataDir.ts";
import { createSystemRng } from "../adapters/system/systemRng.ts";
import { createWallet, newPhrase, readWallet, walletErrorText, walletPath } from "../adapters/system/walletFile.ts";
import { dbDirHere, type Surroundings } from "../config/configSources.ts";
import { passwordProblem } from "../config/passwordPolicy.ts";
import { ok } from "../core/util/result.ts";
import { Secret } from "../core/util/secret.ts";

const USAGE = "usage: swapnode wallet create|show --name NAME [--dbdir DIR]";

type Io = {
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  /** Null: nothing was given. */
  readonly readPassword: (prompt: string) => string | null;
};

/** `swapnode wallet create` and `wallet show`. Returns the exit code. */
export async function walletCommand(args: readonly string[], at: Surroundings, io: Io): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    io.complain(`${error instanceof Error ? error.message : "unreadable arguments"}\n${USAGE}`);
    return 2;
  }
  const [action, ...rest] = parsed.positionals;
  const name = parsed.values.name ?? "";
  if ((action !== "create" && action !== "show") || rest.length > 0 || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    io.complain(`a wallet needs a name of 1 to 64 letters, digits, - or _\n${USAGE}`);
    return 2;
  }
  setPrivateUmask();
  const given = parsed.values.dbdir === undefined ? dbDirHere(at) : ok(parsed.values.dbdir);
  if (!given.ok) {
    io.complain(given.error);
    return 1;
  }
  const dbdir = isAbsolute(given.value) ? given.value : join(at.cwd, given.value);
  const text = io.readPassword(`Password of wallet ${name}: `);
  if (text === null) {
    io.complain("no password was given");
    return 2;
  }
  const password = new Secret(text);
  if (action === "show") {
    const phrase = await readWallet(walletPath(dbdir, name), password);
    if (!phrase.ok) {
      io.complain(walletErrorText(phrase.error, name));
      return 1;
    }
    io.print(phrase.value.reveal());
    return 0;
  }
  const problem = passwordProblem(text);
  if (problem !== null) {
    io.complain(problem);
    return 1;
  }
  const rng = createSystemRng();
  const phrase = newPhrase(rng);
  const created = await createWallet(dbdir, name, password, phrase, rng);
  if (!created.ok) {
    io.complain(walletErrorText(created.error, name));
    return 1;
  }
  io.complain(`Wallet ${name} is in ${created.value}. Write these words down: whoever has them has the coins.`);
  io.print(phrase.reveal());
  return 0;
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: { name: { type: "string" }, dbdir: { type: "string" } }, allowPositionals: true });
}
