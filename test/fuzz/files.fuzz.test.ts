import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readDaemonConf } from "../../src/adapters/jsonRpc/daemonConf.ts";
import { parseWalletBox } from "../../src/adapters/system/walletCipher.ts";
import { parseCoinsText } from "../../src/config/coinsFile.ts";
import { loadConfig } from "../../src/config/load.ts";
import { DEFAULT_TOPOLOGY, parseTopology } from "../../src/devnet/topology.ts";
import { mutateText, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

const CONFIG = JSON.stringify({
  gui: "x",
  netid: 9998,
  rpc_password: "StrongPass123*",
  passphrase: "fuzz words that must not be shown",
  seednodes: ["127.0.0.1", "seed.example/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"],
  rpcport: "7783",
  i_am_seed: false,
  coins: [{ coin: "DOC", protocol: { type: "UTXO" }, txfee: 1000, min_trading_vol: "0.1" }],
  swapnode: { network_profile: "kdf-2", profile_overrides: { dex_fee_rate: "1/777", slow_tickers: ["BTC"] } },
});
const COINS = JSON.stringify([
  {
    coin: "DOC",
    protocol: { type: "UTXO", chain_variant: "BTC" },
    pubtype: 60,
    txfee: 1000,
    address_format: { format: "segwit" },
    derivation_path: "m/44'/141'",
  },
  { coin: "ETH", protocol: { type: "ETH", protocol_data: { chain_id: 1 } }, decimals: 18, avg_blocktime: 2.4 },
]);
const WALLET = JSON.stringify({
  format: "swapnode-wallet",
  version: 1,
  name: "main",
  kdf: { name: "scrypt", n: 131_072, r: 8, p: 1, salt: "ab".repeat(32) },
  cipher: { name: "xchacha20-poly1305", nonce: "cd".repeat(24) },
  ciphertext: "ef".repeat(60),
});

const stdin = openSync("/dev/null", "r");
const READERS: readonly (readonly [
  name: string,
  text: string,
  read: (text: string) => { readonly ok: boolean; readonly error?: unknown },
])[] = [
  // A blank first: text that no longer begins with a brace must still be read as the configuration.
  ["configuration", CONFIG, (text) => loadConfig({ args: [` ${text}`], env: {}, cwd: tmpdir(), home: tmpdir(), stdin })],
  ["coins file", COINS, (text) => parseCoinsText(text, "coins")],
  ["wallet file", WALLET, parseWalletBox],
  ["topology", JSON.stringify(DEFAULT_TOPOLOGY), parseTopology],
];

test.each(READERS)(
  `%s: ${RUNS} damaged texts (seed ${SEED}) are read or refused with a short sentence, never thrown at`,
  (name, text, read) => {
    expect(read(text).ok).toBe(true);
    const next = source(SEED);
    const memory = watchMemory();
    let accepted = 0;
    for (let i = 0; i < RUNS; i++) {
      memory.tick();
      const damaged = mutateText(text, next);
      const outcome = read(damaged);
      if (outcome.ok) {
        accepted++;
        continue;
      }
      const said = JSON.stringify(outcome.error);
      if (said.length > 2_000 || said.includes("fuzz words")) throw new Error(`${name}, input ${i}: ${said.slice(0, 300)}`);
    }
    memory.check();
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThan(RUNS);
  },
);

const CONF = "# a daemon\nrpcuser=me\nrpcpassword=fuzz words = # of mine\nrpcport=8332\nserver\n[test]\nrpcport=1\n";

test(`daemon's conf file: ${RUNS} damaged texts (seed ${SEED}) give an address on this machine or are refused, never thrown at`, {
  timeout: 60_000 + RUNS * 10,
}, async () => {
  const next = source(SEED);
  const memory = watchMemory();
  const folder = mkdtempSync(join(tmpdir(), "swapnode-fuzz-"));
  const confpath = join(folder, "coin.conf");
  const read = (text: string) => {
    writeFileSync(confpath, text);
    return readDaemonConf({ coin: "DOC", confpath }, folder, "linux");
  };
  try {
    expect(await read(CONF)).toMatchObject({ ok: true, value: { user: "me" } });
    for (let i = 0; i < RUNS; i++) {
      memory.tick();
      const outcome = await read(mutateText(CONF, next));
      if (outcome.ok ? outcome.value.url.hostname !== "127.0.0.1" : JSON.stringify(outcome.error).includes("fuzz words")) {
        throw new Error(`input ${i}`);
      }
    }
    memory.check();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
