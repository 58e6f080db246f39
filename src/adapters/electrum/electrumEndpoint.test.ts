import { createHash, X509Certificate } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { SEGWIT_COIN } from "../../../test/contract/embeddedChain.ts";
import { scriptNumber } from "../../../test/contract/spendable.ts";
import { EASY_RULES } from "../../../test/fakes/mineHeaders.ts";
import { quietLog } from "../../../test/fakes/quietLog.ts";
import { coinEntryToChainParams } from "../../chain/chainParams.ts";
import { ChainDaemon } from "../../chain/daemon.ts";
import { ElectrumListener, type ElectrumListenerOptions } from "../../chain/electrum/electrumListener.ts";
import { ElectrumServer } from "../../chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../chain/embeddedChain.ts";
import { Secret } from "../../core/util/secret.ts";
import type { CertificatePins } from "../../ports/electrum.ts";
import { type OpenTextSocket, webSocketOpener } from "../../wire/wsSocket.ts";
import { newKeyPem, selfSignedCertificate } from "../httpServer/selfSigned.ts";
import { createCertificatePins, PIN_SCHEMA } from "../sqlite/certificatePins.ts";
import { CHAIN_SCHEMA, openChainStore } from "../sqlite/chainStore.ts";
import { openInlineDatabase } from "../sqlite/inlineDatabase.ts";
import { createSystemClock } from "../system/systemClock.ts";
import { seededRng } from "../virtualClock/seededRng.ts";
import { openElectrumChain } from "./electrumChain.ts";
import type { ElectrumChain } from "./electrumDeps.ts";
import { electrumEndpoint } from "./electrumEndpoint.ts";
import { parseServerUrl, type ServerProtocol } from "./serverAddress.ts";

const clock = createSystemClock();
const HOST = "127.0.0.1";
const cleanup: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

type World = { readonly chain: EmbeddedChain; readonly server: ElectrumServer };

function startWorld(): World {
  const params = coinEntryToChainParams(SEGWIT_COIN);
  if (!params.ok) expect.fail(params.error.detail);
  const chain = new EmbeddedChain({ params: params.value, clock, rng: seededRng(1) });
  const daemon = new ChainDaemon(chain, clock);
  const server = new ElectrumServer(daemon, clock);
  cleanup.push(() => server.close());
  return { chain, server };
}

async function listen({ server }: World, options: Partial<ElectrumListenerOptions> = {}): Promise<number> {
  const listener = new ElectrumListener(server, { port: 0, ...options });
  const port = await listener.listen();
  cleanup.push(() => listener.close());
  return port;
}

const certificate = (): { readonly key: string; readonly cert: string } => {
  const key = newKeyPem();
  return { key, cert: selfSignedCertificate(key, [HOST], Date.now()) };
};

/** A server's answer to who asks for a WebSocket. */
function welcome({ headers }: IncomingMessage): string {
  const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

/** The same server behind WebSocket: each message is a line. */
async function listenWs({ server }: World, tls?: { readonly key: string; readonly cert: string }): Promise<number> {
  const listener = tls ? createTlsServer(tls) : createServer();
  const sockets = new Set<Duplex>();
  listener.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.write(welcome(request));
    const session = server.open({ data: (bytes) => void socket.write(textFrame(bytes)), closed: () => socket.destroy() });
    socket.on("data", (bytes: Buffer) => session?.receive(Buffer.from(`${unmasked(bytes).join("\n")}\n`, "utf8")));
  });
  await new Promise<void>((resolve) => listener.listen(0, HOST, resolve));
  cleanup.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => listener.close(resolve));
  });
  return (listener.address() as AddressInfo).port;
}

/** One message as a server sends it, the newline left out. */
function textFrame(bytes: Uint8Array): Buffer {
  const body = Buffer.from(bytes).subarray(0, bytes.length - 1);
  if (body.length <= 125) return Buffer.concat([Buffer.from([0x81, body.length]), body]);
  const head = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeBigUInt64BE(BigInt(body.length), 2);
  return Buffer.concat([head, body]);
}

/** The texts of short, masked frames. */
function unmasked(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at + 6 <= bytes.length; ) {
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const head = short === 126 ? 4 : 2;
    const length = short === 126 ? bytes.readUInt16BE(at + 2) : short;
    const mask = bytes.subarray(at + head, at + head + 4);
    const body = Buffer.from(bytes.subarray(at + head + 4, at + head + 4 + length));
    for (let i = 0; i < body.length; i++) body[i] = (body[i] ?? 0) ^ (mask[i & 3] ?? 0);
    if (((bytes[at] ?? 0) & 15) === 1) texts.push(body.toString("utf8"));
    at += head + 4 + length;
  }
  return texts;
}

function memoryPins(): CertificatePins {
  return createCertificatePins(openInlineDatabase(":memory:", [PIN_SCHEMA]));
}

type Trust = { readonly disableCertVerification?: boolean; readonly acceptCertificate?: string };

async function open(port: number, protocol: ServerProtocol, pins = memoryPins(), trust: Trust = {}): Promise<ElectrumChain> {
  const chain = await openElectrumChain({
    ticker: "TST",
    format: { kind: "bitcoin" },
    headerRules: EASY_RULES,
    servers: [electrumEndpoint({ host: HOST, port, protocol, disableCertVerification: false, ...trust }, { rng: seededRng(2), pins })],
    store: openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"),
    clock,
    log: quietLog,
    options: { timeoutMs: 2_000 },
  });
  cleanup.push(() => chain.close());
  return chain;
}

/** Resolves with the change after which it is so: who follows a chain is told of everything. */
function until(chain: ElectrumChain, condition: () => boolean): Promise<void> {
  if (condition()) return Promise.resolve();
  return new Promise((resolve) => {
    const off = chain.onChange(() => {
      if (!condition()) return;
      off();
      resolve();
    });
  });
}
const isUnreachable = (chain: ElectrumChain): Promise<void> => until(chain, () => chain.status().state === "unreachable");

async function seesAPayment(w: World, chain: ElectrumChain): Promise<void> {
  const script = scriptNumber(1);
  await chain.watchScript(script, 0);
  const paid = w.chain.payFromFaucet(script, 100_000n);
  if (!paid.ok) expect.fail("not paid");
  // Nobody asks: the server tells.
  await until(chain, () => chain.tx(paid.value.txid)?.block === null);
  w.chain.mine(1);
  await until(chain, () => chain.tx(paid.value.txid)?.block?.height === w.chain.state.tip.height);
}

test("a chain is followed over TCP, and after the server was gone over a new connection", async () => {
  const w = startWorld();
  const port = await listen(w);
  const chain = await open(port, "TCP");
  await seesAPayment(w, chain);
  const fault = w.server.faults.add({ kind: "refuse" });
  await isUnreachable(chain);
  w.chain.mine(2);
  w.server.faults.clear(fault.id);
  await until(chain, () => chain.status().tip?.height === w.chain.state.tip.height);
});

test("a chain is followed over WebSocket, plain and with TLS", async () => {
  const w = startWorld();
  await seesAPayment(w, await open(await listenWs(w), "WS"));
  const secure = startWorld();
  await seesAPayment(secure, await open(await listenWs(secure, certificate()), "WSS"));
});

test("over TLS the key a server shows first is the one it must show later, also after a restart of the node", async () => {
  const w = startWorld();
  const pins = memoryPins();
  const tls = certificate();
  const port = await listen(w, { tls });
  const first = await open(port, "SSL", pins);
  await first.refresh();
  await first.close();
  expect(await pins.get(`${HOST}:${port}`)).toMatch(/^key [0-9a-f]{64}$/);
  // The same key under another certificate is the same server.
  const again = await open(port, "SSL", pins);
  await again.refresh();
  await again.close();
  for (const undo of cleanup.splice(1).reverse()) await undo();
  const other = startWorld();
  const newTls = certificate();
  const impostor = await listen(other, { port, tls: newTls });
  expect(impostor).toBe(port);
  const fooled = await open(port, "SSL", pins);
  await isUnreachable(fooled);
  expect(fooled.status().error).toContain("its certificate has another key than the first time");
  expect(fooled.status().error).toContain(`"accept_certificate": "${fingerprintOf(newTls.cert)}"`);
  expect(fooled.status().tip).toBeNull();
  // Who says that certificates do not matter gets what they ask for.
  const careless = await open(port, "SSL", pins, { disableCertVerification: true });
  await careless.refresh();
  expect(careless.status().state).toBe("ready");
});

const fingerprintOf = (cert: string): string => new X509Certificate(cert).fingerprint256.replaceAll(":", "").toLowerCase();

test.each(["SSL", "WSS"] as const)("over %s a new certificate is taken when it is named, and from then on without", async (protocol) => {
  const w = startWorld();
  const tls = certificate();
  const port = protocol === "SSL" ? await listen(w, { tls }) : await listenWs(w, tls);
  const name = `${HOST}:${port}`;
  for (const before of [`key ${"ab".repeat(32)}`, "authority"]) {
    const pins = memoryPins();
    await pins.set(name, before);
    const other = await open(port, protocol, pins, { acceptCertificate: "cd".repeat(32) });
    await isUnreachable(other);
    expect(other.status().error).toContain(`"accept_certificate": "${fingerprintOf(tls.cert)}"`);
    expect(await pins.get(name)).toBe(before);
    await other.close();
    for (const trust of [{ acceptCertificate: fingerprintOf(tls.cert) }, {}]) {
      const chain = await open(port, protocol, pins, trust);
      await chain.refresh();
      expect(chain.status().state).toBe("ready");
      await chain.close();
    }
  }
});

test("a certificate that was accepted and replaced since is taken no more, though it is named at each start", async () => {
  const tls = certificate();
  const port = await listen(startWorld(), { tls });
  const name = `${HOST}:${port}`;
  for (const before of [`key ${"ab".repeat(32)}`, null]) {
    const pins = memoryPins();
    if (before !== null) await pins.set(name, before);
    const trust = { acceptCertificate: fingerprintOf(tls.cert) };
    for (let start = 0; start < 2; start++) {
      const chain = await open(port, "SSL", pins, trust);
      await chain.refresh();
      expect(chain.status().state).toBe("ready");
      await chain.close();
    }
    for (const since of ["authority", `key ${"cd".repeat(32)}`]) {
      await pins.set(name, since);
      const chain = await open(port, "SSL", pins, trust);
      await isUnreachable(chain);
      expect(chain.status().error).toContain("its certificate was accepted once and has been replaced since");
      expect(await pins.get(name)).toBe(since);
      await chain.close();
    }
  }
});

test("a server that was never connected is taken with the certificate that is named and with no other", async () => {
  const tls = certificate();
  const port = await listen(startWorld(), { tls });
  const pins = memoryPins();
  const chain = await open(port, "SSL", pins, { acceptCertificate: "cd".repeat(32) });
  await isUnreachable(chain);
  expect(chain.status().error).toContain("its certificate is not the one that accept_certificate names");
  expect(await pins.get(`${HOST}:${port}`)).toBeNull();
  await chain.close();
  const named = await open(port, "SSL", pins, { acceptCertificate: fingerprintOf(tls.cert) });
  await named.refresh();
  expect(named.status().state).toBe("ready");
});

test("whoever answers at a server's address without being one is not the one that is known from then on", async () => {
  const pins = memoryPins();
  // The login page of a public network: TLS with a certificate of its own, and an answer that no server gives.
  const portal = createTlsServer(certificate());
  portal.on("clientError", (_, socket: Duplex) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await new Promise<void>((resolve) => portal.listen(0, HOST, resolve));
  const { port } = portal.address() as AddressInfo;
  for (const trust of [{}, { acceptCertificate: "cd".repeat(32) }]) {
    const lost = await open(port, "SSL", pins, trust);
    await isUnreachable(lost);
    expect(await pins.get(`${HOST}:${port}`)).toBeNull();
    await lost.close();
  }
  await new Promise((resolve) => portal.close(resolve));
  const tls = certificate();
  expect(await listen(startWorld(), { port, tls })).toBe(port);
  const chain = await open(port, "SSL", pins);
  await chain.refresh();
  expect(chain.status().state).toBe("ready");
  expect(await pins.get(`${HOST}:${port}`)).toMatch(/^key [0-9a-f]{64}$/);
});

test("of two first connections that show two keys one is kept, and the other is ended", async () => {
  const pins = memoryPins();
  const port = await listen(startWorld(), { tls: certificate() });
  const name = `${HOST}:${port}`;
  const others = `key ${"ab".repeat(32)}`;
  // The other connection greets while this one does.
  const get = async (server: string): Promise<string | null> => {
    const known = await pins.get(server);
    if (known === null) await pins.set(name, others);
    return known;
  };
  const chain = await open(port, "SSL", { get, set: (server, pin) => pins.set(server, pin) });
  await isUnreachable(chain);
  expect(chain.status().error).toContain("its certificate has another key than the first time");
  expect(await pins.get(name)).toBe(others);
});

test.each([
  ["signed by itself", Date.now(), [HOST], false, "(it is signed by itself)"],
  ["out of date", Date.now() - 12 * 365 * 86_400_000, [HOST], true, "(it has expired)"],
  ["of another name", Date.now(), ["impostor.example"], true, "(it is for another name)"],
])("where an authority vouched for a server before, one whose certificate is %s is not believed, and why is said", async (...row) => {
  const [, fromMs, names, isKnown, said] = row;
  const key = newKeyPem();
  const cert = selfSignedCertificate(key, names, fromMs);
  const known = getCACertificates("default");
  if (isKnown) setDefaultCACertificates([...known, cert]);
  cleanup.push(() => setDefaultCACertificates(known));
  const port = await listen(startWorld(), { tls: { key, cert } });
  const pins = memoryPins();
  await pins.set(`${HOST}:${port}`, "authority");
  const chain = await open(port, "SSL", pins);
  await isUnreachable(chain);
  expect(chain.status().error).toContain(`no authority vouches for its certificate any more ${said}. It may be somebody else's`);
  expect(chain.status().error).toContain(fingerprintOf(cert));
});

test("over secure WebSocket another key is refused, too", async () => {
  const w = startWorld();
  const pins = memoryPins();
  const port = await listenWs(w, certificate());
  await pins.set(`${HOST}:${port}`, `key ${"ab".repeat(32)}`);
  const chain = await open(port, "WSS", pins);
  await isUnreachable(chain);
  expect(chain.status().error).toContain("another key");
});

/** Opens secure WebSockets to a server that nobody judges but `judge`. */
function secureOpener(port: number, judge: (socket: TLSSocket) => Promise<string | null>): () => ReturnType<OpenTextSocket> {
  const url = new URL(`wss://${HOST}:${port}/`);
  const open = webSocketOpener({ url, user: "", password: new Secret(""), judge }, seededRng(3), 1_000);
  return () => open({ onText: () => undefined, onClose: () => undefined }, new AbortController().signal);
}

test("a secure WebSocket that breaks off while its certificate is judged is a failed connection", async () => {
  const broken: Socket[] = [];
  const listener = createTlsServer(certificate());
  listener.on("connection", (socket: Socket) => broken.push(socket));
  listener.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => undefined);
    socket.write(welcome(request));
  });
  await new Promise<void>((resolve) => listener.listen(0, HOST, resolve));
  cleanup.push(() => new Promise((resolve) => listener.close(resolve)));
  const open = secureOpener((listener.address() as AddressInfo).port, async (socket) => {
    const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    for (const raw of broken) raw.resetAndDestroy();
    await gone;
    return null;
  });
  expect(await open()).toMatchObject({ ok: false, error: { why: "ECONNRESET" } });
});

test("a certificate for another name is refused at each connection, also where the server offers to take up an earlier session", async () => {
  const key = newKeyPem();
  const cert = selfSignedCertificate(key, ["impostor.example"], Date.now());
  const known = getCACertificates("default");
  setDefaultCACertificates([...known, cert]);
  cleanup.push(() => setDefaultCACertificates(known));
  const port = await listenWs(startWorld(), { key, cert });
  const vouched: boolean[] = [];
  const open = secureOpener(port, async (socket) => {
    vouched.push(socket.authorized);
    return "not wanted";
  });
  for (let i = 0; i < 3; i++) await open();
  expect(vouched).toEqual([false, false, false]);
});

test("where nothing listens, or something that does not speak TLS, the status says so", async () => {
  const w = startWorld();
  const port = await listen(w);
  const nobody = await open(1, "TCP");
  const plain = await open(port, "SSL");
  const noWeb = await open(port, "WS");
  await Promise.all([nobody, plain, noWeb].map(isUnreachable));
  expect(nobody.status().error).toContain("127.0.0.1:1: nothing listens there: check its port, or whether it is down (ECONNREFUSED)");
  expect(plain.status().error).toContain(`127.0.0.1:${port}: it does not speak TLS at this port`);
  expect(noWeb.status().error).toContain(`127.0.0.1:${port}: it does not speak WebSocket at this port`);
});

test.each([
  ["electrum1.cipig.net:10001", "electrum1.cipig.net", 10001],
  ["[2001:db8::1]:50002", "[2001:db8::1]", 50002],
  ["127.0.0.1:1", "127.0.0.1", 1],
  ["electrum1.cipig.net", null, 0],
  ["electrum1.cipig.net:0", null, 0],
  ["electrum1.cipig.net:65536", null, 0],
  ["ssl://electrum1.cipig.net:20001", null, 0],
  ["user@host:1", null, 0],
  ["host name:1", null, 0],
  [":1", null, 0],
  ["999.1.1.1:50004", null, 0],
])("the server address %s", (url, host, port) => {
  const parsed = parseServerUrl(url);
  expect(parsed.ok ? [parsed.value.host, parsed.value.port] : [null, 0]).toEqual([host, port]);
});
