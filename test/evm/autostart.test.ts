import { cpSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { type ChainServer, startChainServer } from "../../src/chain/startChainServer.ts";
import { loadConfig } from "../../src/config/load.ts";
import { checksumAddress } from "../../src/core/evm/address.ts";
import { rmd160Hex } from "../../src/core/keys/dbIds.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { startNode } from "../../src/main/compose.ts";
import { nodeKeys } from "../../src/main/nodeKeys.ts";
import type { RunningNode } from "../../src/main/runningNode.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { AnvilWorld } from "./support/anvilWorld.ts";

const PASSWORD = "StrongPass123*";
const PASSPHRASE = "whose coins come back";
const OTHER_PASSPHRASE = "somebody else";
const DAEMON_PASSWORD = "daemon-Pass-8c1f0b7d";
const API_KEY = "apikey4f0c9a1be27d";
const TOKENS = ["ONE-ERC20", "TWO-ERC20", "THREE-ERC20"];

type Ask = (method: string, params?: object) => Promise<Record<string, unknown>>;

/** A provider's node: nothing is answered but below the path with its key. */
async function serveWithKey(target: string, port = 0): Promise<{ readonly url: string; readonly port: number; readonly server: Server }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", async () => {
      if (request.url !== `/v3/${API_KEY}`) return response.writeHead(403).end(`no such key: ${request.url}`);
      const headers = { "content-type": "application/json" };
      const reply = await fetch(target, { method: "POST", headers, body: Buffer.concat(chunks) });
      return response.writeHead(200, headers).end(await reply.text());
    });
  });
  await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return { url: `http://127.0.0.1:${address.port}/v3/${API_KEY}`, port: address.port, server };
}

const stopped = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** A whole node in this process, on a daemon with a password and on an account chain whose nodes want a key. */
describe.skipIf(noAnvil)(`coins of the last run whose activation names secrets${noAnvilReason}`, () => {
  const clock = createSystemClock();
  let anvil: Anvil;
  let swapContract = "";
  let entries: readonly object[] = [];
  beforeAll(async () => {
    anvil = await startAnvil();
    const world = new AnvilWorld(anvil);
    swapContract = checksumAddress(await world.deploySwapContract(world.party(0)));
    const tokens = [];
    for (const coin of TOKENS) {
      const contract_address = checksumAddress(await world.deployToken(world.party(0), 1_000n));
      tokens.push({ coin, mm2: 1, decimals: 6, protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address } } });
    }
    const eth = { coin: "ETH", mm2: 1, protocol: { type: "ETH", protocol_data: { chain_id: 31_337 } } };
    const utxo = {
      coin: "DOC",
      mm2: 1,
      txversion: 4,
      overwintered: 1,
      pubtype: 60,
      p2shtype: 85,
      wiftype: 188,
      protocol: { type: "UTXO" },
    };
    entries = [utxo, eth, ...tokens];
  });
  afterAll(async () => anvil?.stop());

  let folder = "";
  let node: RunningNode | null = null;
  let log = new SilentLog();
  let daemon: ChainServer;
  let provider: Awaited<ReturnType<typeof serveWithKey>>;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "swapnode-autostart-"));
    log = new SilentLog();
    provider = await serveWithKey(anvil.url);
    const own = { port: 0, user: "u", password: DAEMON_PASSWORD, blockTimeMs: 600_000 };
    const chain = await startChainServer({ coin: entries[0], clock, rng: createSystemRng(), ...own });
    if (!chain.ok) throw new Error(chain.error.detail);
    daemon = chain.value;
  });
  afterEach(async () => {
    await node?.stop();
    node = null;
    await stopped(provider.server);
    await daemon?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(passphrase = PASSPHRASE): Promise<Ask> {
    await node?.stop();
    const own = { rpc_password: PASSWORD, rpcport: 0, disable_p2p: true, swapnode: { autostart_coins: true } };
    const mm2 = { ...own, coins: entries, passphrase, dbdir: join(folder, "DB") };
    const stdin = openSync("/dev/null", "r");
    const loaded = loadConfig({ args: [JSON.stringify(mm2)], env: {}, cwd: folder, home: folder, stdin });
    if (!loaded.ok) throw new Error(loaded.error);
    const { config } = loaded.value;
    const started = await startNode({ config, passphrase: config.passphrase, clock, rng: createSystemRng(), log });
    node = started;
    return async (method, params = {}) => {
      const body = JSON.stringify({ userpass: PASSWORD, method, ...params });
      return (await fetch(started.rpcUrl, { method: "POST", body })).json() as Promise<Record<string, unknown>>;
    };
  }

  const enabled = async (ask: Ask): Promise<readonly string[]> =>
    ((await ask("get_enabled_coins")).result as readonly { readonly ticker: string }[]).map(({ ticker }) => ticker).sort();
  const v2 = (params: object): object => ({ mmrpc: "2.0", id: 1, params });

  async function enableAll(ask: Ask): Promise<void> {
    const url = new URL(daemon.rpcUrl);
    const where = { rpc_url: url.origin, rpc_user: "u", rpc_password: DAEMON_PASSWORD };
    expect(await ask("enable", { coin: "DOC", ...where })).toMatchObject({ result: "success" });
    const batch = { erc20_tokens_requests: TOKENS.slice(0, 2).map((ticker) => ({ ticker, required_confirmations: 7 })) };
    const platform = { ticker: "ETH", nodes: [{ url: provider.url }], swap_contract_address: swapContract, ...batch };
    expect(await ask("enable_eth_with_tokens", v2(platform))).toHaveProperty("result");
    expect(await ask("enable_erc20", v2({ ticker: "THREE-ERC20" }))).toHaveProperty("result");
  }

  /** Everything the node has on the disk and has said. */
  function leftBehind(): string {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toContain("swapnode.db");
    const contents = files.map((entry) => `${entry.name} ${readFileSync(join(entry.parentPath, entry.name), "latin1")}`);
    return `${contents.join("\n")}\n${inspect(log.lines, { depth: 10, maxStringLength: null })}`;
  }
  const hidden = (text: string): void => {
    for (const secret of [DAEMON_PASSWORD, API_KEY, btoa(`u:${DAEMON_PASSWORD}`)]) expect(text.includes(secret)).toBe(false);
  };

  test("are enabled again, tokens after their platform coin and as they were, and nothing on the disk or in the log tells a secret", async () => {
    await enableAll(await start());
    hidden(leftBehind());
    const ask = await start();
    await vi.waitFor(async () => expect(await enabled(ask)).toEqual(["DOC", "ETH", ...TOKENS].sort()), 20_000);
    const started = log.lines.filter(({ event }) => event === "tokens_activated").map(({ fields }) => fields.count);
    expect(started).toEqual([2, 1, 2, 1]);
    expect(await ask("get_trade_fee", { coin: "ONE-ERC20" })).toMatchObject({ result: { coin: "ETH" } });
    hidden(leftBehind());
    await node?.stop();
    hidden(leftBehind());
  }, 60_000);

  test("stay away while their nodes are, say so without a secret, and those disabled do not come back", async () => {
    await enableAll(await start());
    await node?.stop();
    await stopped(provider.server);
    await daemon.close();
    const ask = await start();
    const said: string[] = [];
    const why = async (coin: string): Promise<string> => {
      const { error } = await ask("my_balance", { coin });
      said.push(String(error));
      return String(error);
    };
    for (const coin of ["DOC", "ETH", "ONE-ERC20", "THREE-ERC20"])
      await vi.waitFor(async () => expect(await why(coin)).toMatch(/is being enabled again\. .+ It is tried every minute/), 30_000);
    expect(await enabled(ask)).toEqual([]);
    expect(await ask("disable_coin", { coin: "THREE-ERC20" })).toHaveProperty("result");
    expect(await why("ONE-ERC20")).toMatch(/is being enabled again/);
    expect(await ask("disable_coin", { coin: "ETH" })).toHaveProperty("result");
    // Without their platform coin they cannot be there.
    expect(await why("ONE-ERC20")).toBe("No such coin: ONE-ERC20");
    hidden(`${said.join("\n")}${leftBehind()}`);
    const again = await start();
    expect((await again("my_balance", { coin: "ETH" })).error).toBe("No such coin: ETH");
    expect((await again("my_balance", { coin: "DOC" })).error).toMatch(/is being enabled again/);
  }, 60_000);

  test("tokens disabled with their platform coin do not come back, and one put aside comes back for its tokens alone", async () => {
    let ask = await start();
    await enableAll(ask);
    expect(await ask("disable_coin", { coin: "ETH" })).toMatchObject({ result: { passivized: true } });
    expect(await ask("disable_coin", { coin: "TWO-ERC20" })).toMatchObject({ result: { passivized: false } });
    ask = await start();
    await vi.waitFor(async () => expect(await enabled(ask)).toEqual(["DOC", "ONE-ERC20", "THREE-ERC20"]), 20_000);
    const where = { urls: [provider.url], swap_contract_address: swapContract };
    expect(await ask("enable", { coin: "ETH", ...where })).toMatchObject({ result: "success" });
    expect(await ask("disable_coin", { coin: "ETH", force_disable: true })).toMatchObject({ result: { passivized: false } });
    ask = await start();
    await vi.waitFor(async () => expect(await enabled(ask)).toEqual(["DOC"]), 20_000);
    expect((await ask("my_balance", { coin: "ONE-ERC20" })).error).toBe("No such coin: ONE-ERC20");
    expect(log.lines.filter(({ event }) => event === "autostart_refused")).toEqual([]);
  }, 60_000);

  test("are not forgotten when a client enables them with a token that is refused", async () => {
    await enableAll(await start());
    await node?.stop();
    await stopped(provider.server);
    let ask = await start();
    await vi.waitFor(async () => expect((await ask("my_balance", { coin: "ETH" })).error).toMatch(/enabled again\. .+ It is/), 30_000);
    provider = await serveWithKey(anvil.url, provider.port);
    const bad = { ticker: "ETH", nodes: [{ url: provider.url }], swap_contract_address: swapContract };
    const refused = await ask("enable_eth_with_tokens", v2({ ...bad, erc20_tokens_requests: [{ ticker: "NONE-ERC20" }] }));
    expect(refused).toMatchObject({ error_type: "TokenConfigIsNotFound" });
    expect((await ask("my_balance", { coin: "ONE-ERC20" })).error).toMatch(/enabled again/);
    ask = await start();
    await vi.waitFor(async () => expect(await enabled(ask)).toEqual(["DOC", "ETH", ...TOKENS].sort()), 20_000);
  }, 60_000);

  test("tell another passphrase nothing, which starts without them, and stay where they are", async () => {
    await enableAll(await start());
    await node?.stop();
    const homeOf = (phrase: string) => join(folder, "DB", rmd160Hex(nodeKeys(new Secret(phrase), false).node.publicKey));
    cpSync(homeOf(PASSPHRASE), homeOf(OTHER_PASSPHRASE), { recursive: true });
    const ask = await start(OTHER_PASSPHRASE);
    const unread = log.lines.filter(({ event }) => event === "activation_unreadable");
    const reason = "it was sealed under another passphrase, or is damaged";
    expect(unread.map(({ level, fields }) => ({ level, ...fields }))).toEqual([
      { level: "error", coin: "DOC", reason },
      { level: "error", coin: "ETH", reason },
    ]);
    expect(await enabled(ask)).toEqual([]);
    hidden(leftBehind());
    await start(PASSPHRASE);
    const restored = await start(OTHER_PASSPHRASE);
    expect(log.lines.filter(({ event }) => event === "activation_unreadable")).toHaveLength(4);
    const url = new URL(daemon.rpcUrl);
    const where = { rpc_url: url.origin, rpc_user: "u", rpc_password: DAEMON_PASSWORD };
    expect(await restored("enable", { coin: "DOC", ...where })).toMatchObject({ result: "success" });
    const last = await start(OTHER_PASSPHRASE);
    await vi.waitFor(async () => expect(await enabled(last)).toEqual(["DOC"]), 20_000);
  }, 60_000);
});
