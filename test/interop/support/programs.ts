import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { DaemonProgram } from "./daemonProcess.ts";

/** Where `.ci/run` keeps what it builds. */
const CACHE = process.env.SWAPNODE_CI_CACHE ?? join(homedir(), ".cache", "swapnode-ci");

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The program named by the variable, else on the PATH, else among what CI built; null when there is none. */
function find(variable: string, name: string): string | null {
  const built = [join(CACHE, "bin"), join(CACHE, "electrumx", "bin"), join(CACHE, "electrs", "bin"), join(homedir(), "go", "bin")];
  const places = [...(process.env.PATH ?? "").split(delimiter), ...built];
  const candidates = [process.env[variable] ?? "", ...places.map((folder) => join(folder, name))];
  return candidates.find((path) => path !== "" && isProgram(path)) ?? null;
}

const litecoind = find("SWAPNODE_LITECOIND", "litecoind");
const btcd = find("SWAPNODE_BTCD", "btcd");
const electrumx = find("SWAPNODE_ELECTRUMX", "electrumx_server");
const electrs = find("SWAPNODE_ELECTRS", "electrs");
const geth = find("SWAPNODE_GETH", "geth");

const missingDaemons = [
  ...(litecoind === null ? ["litecoind (apt-get install litecoind)"] : []),
  ...(btcd === null ? ["btcd (go install github.com/btcsuite/btcd@v0.26.2)"] : []),
];
const missingElectrumx = electrumx === null ? ["electrumx_server (pip install electrumx==1.15.0 websockets==12.0)"] : [];
const missing = [...missingDaemons, ...missingElectrumx];

/** In CI nothing may be missing: there the tests run, and fail by the program's name. */
const skips = (names: readonly string[]): boolean => names.length > 0 && !process.env.CI;
const reason = (names: readonly string[]): string => (skips(names) ? ` (skipped: no ${names.join(" and no ")})` : "");

/** For tests over both daemons. The reason stands in the name of a test that is skipped. */
export const isSkipped = skips(missingDaemons);
export const skipReason = reason(missingDaemons);
/** For tests over both daemons with ElectrumX. */
export const isElectrumxSkipped = skips(missing);
export const electrumxSkipReason = reason(missing);

function pathOf(path: string | null): string {
  if (path === null) throw new Error(`missing: ${missing.join(", ")}`);
  return path;
}

/** The program of ElectrumX. */
export const electrumxPath = (): string => pathOf(electrumx);

/** The program of electrs, which takes so long to build that CI does without (CONTRIBUTING.md). */
export function electrsPath(): string {
  if (electrs === null) throw new Error("missing: electrs (cargo install electrs --version 0.12.0 --locked)");
  return electrs;
}

/** The program of geth, which takes minutes to build: CI does without (CONTRIBUTING.md). */
export function gethPath(): string {
  if (geth === null) throw new Error("missing: geth (go install github.com/ethereum/go-ethereum/cmd/geth@v1.16.7)");
  return geth;
}

/** Litecoin Core: no transaction index, no peers. @param extra read anew at each start */
const litecoin = (mode: readonly string[], extra: readonly string[]): DaemonProgram => ({
  name: "litecoind",
  path: pathOf(litecoind),
  args: ({ dir, rpcPort, user, password }) => [
    "-regtest",
    `-datadir=${dir}`,
    "-txindex=0",
    "-listen=0",
    "-server",
    "-rpcbind=127.0.0.1",
    "-rpcallowip=127.0.0.1",
    `-rpcport=${rpcPort}`,
    `-rpcuser=${user}`,
    `-rpcpassword=${password}`,
    ...mode,
    ...extra,
  ],
});

/** No wallet. MWEB off, or its regtest stops at block 431. */
export const litecoinProgram = (extra: readonly string[]): DaemonProgram => litecoin(["-vbparams=mweb:-2:0", "-disablewallet"], extra);

/** With a wallet, that can pay into the extension block: somebody must, for block 432 to be made. */
export const mwebLitecoinProgram = (): DaemonProgram => litecoin(["-fallbackfee=0.0001"], []);

/** btcd: no transaction index, no peers, the relay rules of the main network (else a refund that is not final is taken). */
export const btcdProgram = (miningAddress: string): DaemonProgram => ({
  name: "btcd",
  path: pathOf(btcd),
  args: ({ dir, rpcPort, user, password }) => [
    "--regtest",
    `--configfile=${join(dir, "none.conf")}`,
    `--datadir=${join(dir, "data")}`,
    `--logdir=${join(dir, "logs")}`,
    "--notls",
    "--nolisten",
    "--nodnsseed",
    "--rejectnonstd",
    `--rpclisten=127.0.0.1:${rpcPort}`,
    `--rpcuser=${user}`,
    `--rpcpass=${password}`,
    `--miningaddr=${miningAddress}`,
  ],
});
