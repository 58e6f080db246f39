import { chmodSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { afterAll, expect, test } from "vitest";
import { toDecimalString } from "../core/money/rational.ts";
import type { Surroundings } from "./configSources.ts";
import { type LoadedConfig, loadConfig } from "./load.ts";
import { kdfSchema } from "./schema.ts";

const ROOT = mkdtempSync(join(tmpdir(), "swapnode-config-"));
afterAll(() => rmSync(ROOT, { recursive: true, force: true }));
const folder = (): string => mkdtempSync(join(ROOT, "f-"));
const NULL_DEVICE = openSync("/dev/null", "r");
const COINS = [{ coin: "DOC", protocol: { type: "UTXO" } }];
const BASE = { rpc_password: "StrongPass123*", passphrase: "some words", netid: 9998, seednodes: ["127.0.0.1"], coins: COINS };

const at = (over: Partial<Surroundings> = {}): Surroundings => ({
  args: [],
  env: {},
  cwd: folder(),
  home: folder(),
  stdin: NULL_DEVICE,
  ...over,
});
const load = (config: object, over: Partial<Surroundings> = {}) => loadConfig(at({ args: [JSON.stringify(config)], ...over }));

function loaded(result: ReturnType<typeof loadConfig>): LoadedConfig {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}
function refusal(result: ReturnType<typeof loadConfig>): string {
  if (result.ok) throw new Error("it was accepted");
  return result.error;
}

test("a light node's configuration as the first argument gives every default", () => {
  const here = at({ args: [JSON.stringify(BASE)] });
  const { config } = loaded(loadConfig(here));
  expect(config).toMatchObject({
    gui: null,
    netid: 9998,
    profile: { name: "spec" },
    wallet: null,
    enableHd: false,
    dbdir: join(here.home, ".kdf", "DB"),
    rpc: { ip: "127.0.0.1", port: 7783, localOnly: true, cors: null, tls: null },
    p2p: {
      disabled: false,
      isSeed: false,
      isBootstrap: false,
      seedNodes: ["127.0.0.1"],
      tcpPort: 47_771,
      wssPort: 47_781,
      maxConnections: 512,
    },
    compatibility: "spec",
    autostartCoins: false,
    swapCopies: null,
    unlimitedAllowances: false,
    makerOrderTimeoutSec: 90,
    log: { level: "info", file: null, silentConsole: false },
  });
  expect([...config.coins.keys()]).toEqual(["DOC"]);
  expect(config.passphrase?.reveal()).toBe("some words");
  const printed = inspect(config, { depth: 20, showHidden: true });
  expect(printed).not.toContain("some words");
  expect(printed).not.toContain("StrongPass123*");
});

test("files are looked for as KDF does: the environment, then here, then the home folder", () => {
  const here = at();
  expect(refusal(loadConfig(here))).toContain("no configuration");
  mkdirSync(join(here.home, ".kdf"));
  const write = (path: string, gui: string): void =>
    writeFileSync(path, JSON.stringify({ ...BASE, coins: undefined, gui }), { mode: 0o600 });
  const gui = (over: Partial<Surroundings> = {}): string | null => loaded(loadConfig({ ...here, ...over })).config.gui;
  write(join(here.home, ".kdf", "MM2.json"), "home");
  expect(gui()).toBe("home");
  write(join(here.cwd, "MM2.json"), "here");
  expect(gui()).toBe("here");
  write(join(here.home, "own.json"), "env");
  expect(gui({ env: { MM_CONF_PATH: join(here.home, "own.json") } })).toBe("env");

  const coins = (over: Partial<Surroundings> = {}): string[] => Array.from(loaded(loadConfig({ ...here, ...over })).config.coins.keys());
  expect(coins()).toEqual([]);
  writeFileSync(join(here.home, ".kdf", "coins"), '[{"coin":"A","protocol":{"type":"UTXO"}}]');
  expect(coins()).toEqual(["A"]);
  writeFileSync(join(here.cwd, "coins"), '[{"coin":"B","protocol":{"type":"UTXO"}}]');
  expect(coins()).toEqual(["B"]);
  writeFileSync(join(here.home, "c.json"), '[{"coin":"C","protocol":{"type":"UTXO"}}]');
  expect(coins({ env: { MM_COINS_PATH: join(here.home, "c.json") } })).toEqual(["C"]);
});

test("a path in the environment that is no file is refused with KDF's texts", () => {
  const dir = folder();
  expect(refusal(loadConfig(at({ env: { MM_CONF_PATH: join(dir, "none") } })))).toBe(`File '${join(dir, "none")}' is not present.`);
  expect(refusal(loadConfig(at({ env: { MM_CONF_PATH: dir } })))).toBe(`Expected file but '${dir}' is a directory.`);
  expect(refusal(load({ ...BASE, coins: undefined }, { env: { MM_COINS_PATH: dir } }))).toBe(`Expected file but '${dir}' is a directory.`);
});

test("the configuration comes from standard input with -, and from a file redirected to it", () => {
  const file = join(folder(), "conf.json");
  writeFileSync(file, JSON.stringify({ ...BASE, gui: "stdin" }));
  expect(loaded(loadConfig(at({ args: ["-"], stdin: openSync(file, "r") }))).config.gui).toBe("stdin");
  expect(loaded(loadConfig(at({ stdin: openSync(file, "r") }))).config.gui).toBe("stdin");
});

test("what is not UTF-8 is refused, for its passphrase would be that of other words; a byte order mark does no harm", () => {
  const file = join(folder(), "conf.json");
  const text = JSON.stringify({ ...BASE, passphrase: "p\u00e4ssword of mine" });
  for (const over of [() => ({ env: { MM_CONF_PATH: file } }), () => ({ args: ["-"], stdin: openSync(file, "r") })]) {
    for (const bytes of [Buffer.from(text, "latin1"), Buffer.from(`\ufeff${text}`, "utf16le")]) {
      writeFileSync(file, bytes);
      expect(refusal(loadConfig(at(over())))).toContain("is not UTF-8 text: save it as UTF-8");
    }
    writeFileSync(file, `\ufeff${text}`);
    expect(loaded(loadConfig(at(over()))).config.passphrase?.reveal()).toBe("p\u00e4ssword of mine");
  }
  // So an argument arrives at Node that is not UTF-8.
  expect(refusal(load({ ...BASE, passphrase: "p\ufffdssword" }))).toContain("the configuration argument is not UTF-8 text");
});

test("what is not JSON is refused without a word of its content", () => {
  const refused = (text: string): string => refusal(loadConfig(at({ args: [text] })));
  const sentence = "Couldn't parse mm2 config to JSON format! (the configuration argument";
  expect(refused('{"passphrase":"secret words"')).toBe(`${sentence}, line 1 column 29)`);
  expect(refused('{"gui":"me",\n "passphrase":"secret words" "netid":1}')).toBe(`${sentence}, line 2 column 30)`);
  expect(refused('{"passphrase": secret words}')).toBe(`${sentence})`);
  expect(refusal(loadConfig(at({ args: ["[]"] })))).toContain("expected a JSON object");
});

test.each<[string, object, string]>([
  ["a weak rpc password", { rpc_password: "aaa111***" }, "rpc_password: Password should contain at least 1 uppercase character"],
  ["a number as rpc password", { rpc_password: 5 }, "rpc_password must be string"],
  ["a weak wallet password", { passphrase: undefined, wallet_name: "w", wallet_password: "x" }, "wallet_password: Password length"],
  ["a wallet without password", { wallet_name: "w" }, "go together"],
  [
    "an encrypted passphrase",
    { passphrase: { encrypted: "x" } },
    "together with wallet_name and wallet_password, which keep them encrypted",
  ],
  ["a passphrase that is no text", { passphrase: 5 }, "passphrase must be text"],
  [
    "a seed without keys",
    { passphrase: undefined, seednodes: undefined, i_am_seed: true, is_bootstrap_node: true },
    "Precheck failed: 'Seed node requires a persistent identity to generate its P2P key.'",
  ],
  ["an empty passphrase", { passphrase: "" }, "passphrase must not be empty"],
  ["a passphrase with half a sign", { passphrase: "p\ud800ssword" }, "passphrase has a sign that is none"],
  ["the dead netid", { netid: 7777 }, "Invalid netid: 7777 netid is deprecated."],
  ["the old netid with the new rules", { netid: 8762, swapnode: { network_profile: "kdf-3" } }, "Invalid netid: 8762 netid is deprecated."],
  ["a netid too large", { netid: 14_429 }, "14428"],
  ["a netid as text", { netid: "9998" }, "netid"],
  ["a low rpc port", { rpcport: 80 }, "rpcport < 1024"],
  ["a port beyond 16 bits", { rpcport: "70000" }, "rpcport > u16"],
  ["a Prometheus port beyond 16 bits", { prometheusport: 70_000 }, "prometheusport > u16"],
  [
    "a Prometheus port others can reach, without a password",
    { rpcip: "192.168.1.2", prometheusport: 9_000 },
    "prometheusport on 192.168.1.2 needs prometheus_credentials",
  ],
  ["Prometheus credentials without a password", { prometheusport: 9_000, prometheus_credentials: "user" }, "must be user:password"],
  ["an interval of no length", { metrics_interval: 0 }, "metrics_interval"],
  ["a host name as rpc address", { rpcip: "localhost" }, "rpcip: must be an IP address"],
  ["a seed with a port", { seednodes: ["1.2.3.4:47771"] }, "seednodes.0"],
  ["no seeds", { seednodes: undefined }, "Precheck failed: 'Bootstrap node must also be a seed node.'"],
  [
    "an unknown key of ours",
    { swapnode: { netwrok_profile: "kdf-3" } },
    'unknown key "netwrok_profile" in swapnode (did you mean "network_profile"?)',
  ],
  ["an unknown value of the profile", { swapnode: { profile_overrides: { dex_fee_pubkei: "x" } } }, '(did you mean "dex_fee_pubkey"?)'],
  ["an unknown profile", { swapnode: { network_profile: "kdf-9" } }, "none of spec, kdf-2, kdf-3"],
  ["a rate that is no fraction", { swapnode: { profile_overrides: { dex_fee_rate: "1/0" } } }, "dex_fee_rate"],
])("%s is refused", (_, over, text) => {
  expect(refusal(load({ ...BASE, ...over }))).toContain(text);
});

test("neither passphrase nor wallet: no keys, with a warning that says what that means; with either there is none", () => {
  for (const passphrase of [undefined, null]) {
    const { config, warnings } = loaded(load({ ...BASE, passphrase }));
    expect([config.passphrase, config.wallet]).toEqual([null, null]);
    expect(warnings).toEqual([
      expect.stringMatching(/^neither passphrase nor wallet_name is set: this node has no keys\. .* trades nothing/),
    ]);
  }
  const wallet = { passphrase: undefined, wallet_name: "w", wallet_password: "OtherPass456*" };
  for (const keys of [{}, wallet]) expect(loaded(load({ ...BASE, ...keys })).warnings.join()).not.toContain("no keys");
});

test("weak passwords pass only with the literal true", () => {
  expect(load({ ...BASE, rpc_password: "weak", allow_weak_password: true }).ok).toBe(true);
  expect(load({ ...BASE, rpc_password: "weak", allow_weak_password: "true" }).ok).toBe(false);
});

test("the netid picks the profile, the section may name one and replace values in it", () => {
  expect(loaded(load({ ...BASE, netid: 8762 })).config.profile.name).toBe("kdf-2");
  expect(loaded(load({ ...BASE, netid: 6133 })).config).toMatchObject({ profile: { name: "kdf-3" }, p2p: { tcpPort: 32_326 } });
  const { profile } = loaded(
    load({
      ...BASE,
      swapnode: { network_profile: "kdf-2", profile_overrides: { dex_fee_rate: "1/500", payment_locktime_sec: 60, burn_ticker: null } },
    }),
  ).config;
  expect(profile).toMatchObject({ name: "kdf-2+overrides", paymentLocktimeSec: 60, burnTicker: null, slowFactor: 4 });
  expect(toDecimalString(profile.dexFeeRate)).toBe("0.002");
});

const SAFETY = {
  confirmation_value_factor: 1,
  slow_block_factor: 3,
  notarization_sec: 3_600,
  reveal_blocks: 1,
  network_grace_sec: 120,
  fee_ceiling_factor: 8,
};

test.each(Object.entries(SAFETY))("the safety rule %s can be raised and not lowered: the refusal has both numbers", (key, least) => {
  const overrides = (value: number) => load({ ...BASE, swapnode: { profile_overrides: { [key]: value } } });
  const { safety, name } = loaded(overrides(least + 1)).config.profile;
  expect([Object.values(safety).includes(least + 1), name]).toEqual([true, "spec+overrides"]);
  expect(loaded(overrides(least)).config.profile.safety).toEqual(loaded(load(BASE)).config.profile.safety);
  if (least > 1)
    expect(refusal(overrides(least - 1))).toMatch(
      new RegExp(`${key}: ${least - 1} is less safe than the ${least} of network profile spec`),
    );
  else expect(refusal(overrides(0))).toContain(key);
});

test("public seed nodes are used only when asked for", () => {
  const { p2p } = loaded(load({ ...BASE, netid: 6133, seednodes: undefined, swapnode: { public_seednodes: true } })).config;
  expect(p2p.seedNodes).toContain("seed01.kmdefi.net");
  expect(p2p.isBootstrap).toBe(false);
});

test("a seed address may be pinned to a peer", () => {
  const pinned = "127.0.0.1/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X";
  expect(loaded(load({ ...BASE, seednodes: [pinned, "seed.example.org"] })).config.p2p.seedNodes).toEqual([pinned, "seed.example.org"]);
});

test("unknown keys of KDF's files warn with the nearest name and change nothing", () => {
  const { warnings } = loaded(
    load({ ...BASE, rpcprot: 7784, coins: [{ ...COINS[0], txfe: 5 }, { nocoin: 1 }, COINS[0], { ...COINS[0], coin: "BAD", txfee: -1 }] }),
  );
  expect(warnings.join("\n")).toContain('unknown key "rpcprot" in the configuration argument (did you mean "rpcport"?)');
  expect(warnings.join("\n")).toContain('"txfe"');
  expect(warnings.join("\n")).toContain("entry 1 is left out");
  expect(warnings.join("\n")).toContain("DOC stands twice");
  expect(warnings.join("\n")).toContain("BAD is left out: txfee");
});

test("a key that is null is one that is not there, whatever its type, as programs write what they have no value for", () => {
  const here = { cwd: folder(), home: folder() };
  const optional = Object.keys(kdfSchema.shape).filter((key) => !(key in BASE));
  const nulls = Object.fromEntries(optional.map((key) => [key, null]));
  const withNulls = loaded(load({ ...BASE, ...nulls }, here)).config;
  expect(withNulls).toEqual(loaded(load(BASE, here)).config);
  expect(loaded(load({ ...BASE, netid: null, coins: null })).config).toMatchObject({ netid: 0, coins: new Map() });
  expect(refusal(load({ ...BASE, rpc_password: null }))).toContain("rpc_password must be set");
  expect(refusal(load({ ...BASE, wallet_name: null, wallet_password: "StrongPass123*" }))).toContain("go together");
  expect(loaded(load({ ...BASE, rpcprot: null })).warnings.join("\n")).toContain('unknown key "rpcprot"');
});

test("a passphrase that others can read warns: as an argument, and in a file with an open mode", () => {
  expect(loaded(load(BASE)).warnings.join()).toContain("list of processes");
  const here = at();
  const path = join(here.cwd, "MM2.json");
  writeFileSync(path, JSON.stringify(BASE));
  chmodSync(path, 0o644);
  expect(loaded(loadConfig(here)).warnings.join()).toContain(`chmod 600 ${path}`);
  chmodSync(path, 0o600);
  expect(loaded(loadConfig(here)).warnings).toEqual([]);
});

test.each([
  [{ passphrase: "words" }, "holds the passphrase and"],
  [{ passphrase: undefined, wallet_name: "w", wallet_password: "Str0ng-Secret*" }, "holds the wallet password and"],
  [{ wallet_name: "w", wallet_password: "Str0ng-Secret*" }, "holds the passphrase and the wallet password and"],
])("a readable file is told of with what it holds, and with nothing else: %#", (fields, text) => {
  const here = at();
  const path = join(here.cwd, "MM2.json");
  writeFileSync(path, JSON.stringify({ ...BASE, ...fields }));
  chmodSync(path, 0o644);
  expect(loaded(loadConfig(here)).warnings).toEqual([`${path} ${text} can be read by other users: chmod 600 ${path}`]);
});

test("a level that is none in RUST_LOG is told, not silently taken for info", () => {
  const told = (level: string, fields: object = {}): readonly string[] =>
    loaded(load({ ...BASE, ...fields }, { env: { RUST_LOG: level } })).warnings.filter((w) => w.includes("RUST_LOG"));
  expect(told("verbose")).toEqual([expect.stringContaining('RUST_LOG: "verbose" is none of trace, debug, info, warn, error')]);
  expect(told("mm2=trace,chatty")).toHaveLength(1);
  for (const level of ["", "debug", "INFO", " warn", "mm2=trace", "info,mm2=off", "mm2=x,error"])
    expect([level, told(level)]).toEqual([level, []]);
  expect(told("verbose", { swapnode: { log_level: "info" } })).toEqual([]);
});

test("an RPC that other machines can reach is told of at the start", () => {
  const told = (fields: object): readonly string[] => loaded(load({ ...BASE, ...fields })).warnings.filter((w) => w.includes("rpcip"));
  for (const rpcip of ["0.0.0.0", "::", "192.0.2.7", "::ffff:10.0.0.1"]) {
    expect(told({ rpcip })).toEqual([
      expect.stringContaining(`rpcip ${rpcip}: the RPC can be reached from other machines, and what is said`),
    ]);
  }
  expect(told({ rpcip: "0.0.0.0", https: true })).toEqual([expect.not.stringContaining("can be read on the way")]);
  for (const rpcip of ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"]) expect([rpcip, told({ rpcip })]).toEqual([rpcip, []]);
});

test("replies follow KDF where it and the interface document disagree when asked for", () => {
  expect(loaded(load({ ...BASE, swapnode: { compatibility: "kdf" } })).config.compatibility).toBe("kdf");
  expect(loaded(load({ ...BASE, swapnode: { autostart_coins: true } })).config.autostartCoins).toBe(true);
  expect(loaded(load({ ...BASE, swapnode: { unlimited_allowances: true } })).config.unlimitedAllowances).toBe(true);
  expect(refusal(load({ ...BASE, swapnode: { compatibility: "mm2" } }))).toMatch(/swapnode\.compatibility: .*"spec"\|"kdf"/);
});

test("log settings come from the environment and our section", () => {
  expect(loaded(load(BASE, { env: { RUST_LOG: "mm2=trace,WARN", MM_LOG: "x.log" } })).config.log).toMatchObject({
    level: "warn",
    file: "x.log",
  });
  expect(loaded(load({ ...BASE, swapnode: { log_level: "error" } }, { env: { RUST_LOG: "debug" } })).config.log.level).toBe("error");
  expect(refusal(load(BASE, { env: { MM_LOG: "x.txt" } }))).toContain("must end in .log");
});

test("a file myipaddr in the working directory wins over the configuration", () => {
  const here = at({ args: [JSON.stringify({ ...BASE, myipaddr: "10.0.0.1" })] });
  expect(loaded(loadConfig(here)).config.p2p.myIp).toBe("10.0.0.1");
  writeFileSync(join(here.cwd, "myipaddr"), "10.0.0.2\n");
  expect(loaded(loadConfig(here)).config.p2p.myIp).toBe("10.0.0.2");
});

const shared = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const coinsFile = join(shared, "data", "coins.json");

test.skipIf(!existsSync(coinsFile))(
  existsSync(coinsFile)
    ? "all 730 entries of the public coins file load without a warning"
    : "the public coins file loads (skipped: no shared data)",
  () => {
    const { config, warnings } = loaded(load({ ...BASE, coins: undefined }, { env: { MM_COINS_PATH: coinsFile } }));
    expect(config.coins.size).toBe(JSON.parse(readFileSync(coinsFile, "utf8")).length);
    expect(config.coins.size).toBeGreaterThanOrEqual(730);
    expect(warnings.filter((w) => w.includes("coin"))).toEqual([]);
  },
);

test("alt_names are the node's names also without TLS: its Host check goes by them", () => {
  expect(loaded(load({ ...BASE, alt_names: ["node.lan"] })).config.rpc).toMatchObject({ altNames: ["node.lan"], tls: null });
  expect(loaded(load(BASE)).config.rpc.altNames).toEqual([]);
});

test("Prometheus' port needs no password on loopback, and elsewhere one that is not printed", () => {
  expect(loaded(load(BASE)).config.metrics).toEqual({ port: null, credentials: null, logSec: null });
  expect(loaded(load({ ...BASE, prometheusport: 9_000 })).config.metrics).toMatchObject({ port: 9_000, credentials: null });
  const fields = { rpcip: "0.0.0.0", prometheusport: 9_000, prometheus_credentials: "watcher:word", metrics_interval: 300 };
  const { metrics } = loaded(load({ ...BASE, ...fields })).config;
  expect(metrics.credentials?.reveal()).toBe("watcher:word");
  expect(metrics).toMatchObject({ port: 9_000, logSec: 300 });
  expect(inspect(metrics, { depth: 20, showHidden: true })).not.toContain("word");
});
