import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { createNativeVerifier } from "../adapters/system/nativeVerifier.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { createSystemRng } from "../adapters/system/systemRng.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { Log } from "../ports/log.ts";
import { startChainServer } from "./startChainServer.ts";

const USAGE = `Usage: swapnode chain --coin TICKER --coins FILE [--port P] [--block-time S] [--user U] [--password P] [--txindex] [--electrum N]

One embedded chain that imitates the coin, behind a daemon's JSON-RPC on 127.0.0.1.
  --coin TICKER      entry of the coins file to imitate
  --coins FILE       coins file (JSON list)
  --port P           0 or absent: any free port
  --block-time S     mine a block every S seconds; absent: only when asked (chain_mine, generatetoaddress)
  --user, --password absent: user "chain" and a random password
  --txindex          find confirmed transactions by id alone
  --electrum N       N Electrum servers over it, each on a free port, plain TCP
Prints one line of JSON when ready: {"ready":true,"rpc_url":"...","electrum":["127.0.0.1:port"]}. Stops on SIGINT, SIGTERM or the method stop.`;

/** Largest coins file read, bytes. */
const MAX_COINS_BYTES = 20_000_000;

const log = (level: string) => (event: string, fields?: object) => process.stderr.write(`${JSON.stringify({ level, event, ...fields })}\n`);
const stderrLog: Log = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error"), child: () => stderrLog };

/** Wrong usage: the text for people, exit code 2. */
type Wrong = { readonly kind: "WrongUsage"; readonly text: string };
const wrong = (text: string): Result<never, Wrong> => err({ kind: "WrongUsage", text });
const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : "unknown reason");

async function coinEntry(file: string, ticker: string): Promise<Result<unknown, Wrong>> {
  let parsed: unknown;
  try {
    const text = await readFile(file, "utf8");
    if (text.length > MAX_COINS_BYTES) return wrong(`${file} is larger than ${MAX_COINS_BYTES} bytes`);
    parsed = JSON.parse(text);
  } catch (cause) {
    return wrong(`cannot read the coins file ${file}: ${textOf(cause)}`);
  }
  if (!Array.isArray(parsed)) return wrong(`${file} is not a list of coins`);
  const found: unknown = parsed.find((c: unknown) => typeof c === "object" && c !== null && "coin" in c && c.coin === ticker);
  return found === undefined ? wrong(`no coin ${ticker} in ${file}`) : ok(found);
}

const OPTIONS = {
  coin: { type: "string" },
  coins: { type: "string" },
  port: { type: "string", default: "0" },
  "block-time": { type: "string" },
  user: { type: "string", default: "chain" },
  password: { type: "string" },
  txindex: { type: "boolean", default: false },
  electrum: { type: "string", default: "0" },
  help: { type: "boolean", default: false },
} as const;

function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({ options: OPTIONS, args: [...args] });
    const port = Number(values.port);
    const blockTime = values["block-time"] === undefined ? null : Number(values["block-time"]);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) return wrong(`--port ${values.port}: 0 to 65535`);
    if (blockTime !== null && !(blockTime >= 0.01 && blockTime <= 86_400))
      return wrong(`--block-time ${values["block-time"]}: 0.01 to 86400 seconds`);
    const electrum = Number(values.electrum);
    if (!Number.isInteger(electrum) || electrum < 0 || electrum > 10) return wrong(`--electrum ${values.electrum}: 0 to 10`);
    return ok({ ...values, port, electrum, blockTimeMs: blockTime === null ? null : Math.round(blockTime * 1_000) });
  } catch (cause) {
    return wrong(textOf(cause));
  }
}

/** @returns the exit code: 0 stopped on request, 2 wrong usage */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const complain = (text: string): number => {
    process.stderr.write(`${text}\n\n${USAGE}\n`);
    return 2;
  };
  if (!options.ok) return complain(options.error.text);
  const { coin, coins, help, port, blockTimeMs, user, password, txindex, electrum } = options.value;
  if (help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (!coin || !coins) return complain("--coin and --coins are needed");
  const entry = await coinEntry(coins, coin);
  if (!entry.ok) return complain(entry.error.text);

  let stop = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const started = await startChainServer({
    coin: entry.value,
    clock: createSystemClock(),
    rng: createSystemRng(),
    verifier: createNativeVerifier(stderrLog),
    port,
    user,
    password: password ?? randomBytes(16).toString("hex"),
    blockTimeMs,
    txIndex: txindex,
    electrumPorts: Array.from({ length: electrum }, () => 0),
    onStop: () => stop(),
  });
  if (!started.ok) return complain(started.error.detail);
  process.once("SIGINT", () => stop());
  process.once("SIGTERM", () => stop());
  process.stdout.write(
    `${JSON.stringify({ ready: true, rpc_url: started.value.rpcUrl, electrum: started.value.electrum.map((e) => `127.0.0.1:${e.port}`) })}\n`,
  );
  await stopped;
  // The answer to `stop` leaves before its connection is closed.
  await new Promise((resolve) => setImmediate(resolve));
  await started.value.close();
  return 0;
}
