import { expect, test } from "vitest";
import { seededRng } from "../../adapters/virtualClock/seededRng.ts";
import { Secret } from "../../core/util/secret.ts";
import { activationToText, type KeptActivation, parseActivation } from "./activationRecord.ts";
import { ActivationSeal } from "./activationSeal.ts";
import type { EnableRequest } from "./enabling.ts";

const sealOf = (byte: number) => new ActivationSeal(new Secret(new Uint8Array(32).fill(byte)), seededRng(byte));
const seal = sealOf(7);
const kept = (more: Partial<EnableRequest> = {}, aside = false): KeptActivation => ({
  kind: "coin",
  request: {
    ...{ coin: "A", mm2: true, requiredConfirmations: 2, requiresNotarization: undefined, daemon: undefined, birthdayHeight: undefined },
    ...{ electrum: undefined, rescan: false, txHistory: true, addressFormat: undefined, merge: undefined },
    ...more,
  },
  aside,
});
const DAEMON = { url: "http://u:pass-in-url@127.0.0.1:1", user: "daemon-user", password: new Secret("pass-word") };
const NODES = { urls: ["https://node.example/api-key"], swapContract: `0x${"1".repeat(40)}`, fallbackSwapContract: undefined };
const SECRET = [
  ["a daemon's password", kept({ daemon: DAEMON })],
  ["the nodes of an account chain", kept({ nodes: NODES })],
  ["a chosen way to bid for gas", kept({ nodes: { ...NODES, gasPolicy: "high" } })],
  ["a coin that was put aside", kept({ nodes: NODES }, true)],
] as const;

test.each(SECRET)("%s is sealed, and read as it was", (_, activation) => {
  const text = activationToText(activation, seal) ?? "";
  expect(text).not.toMatch(/pass|daemon-user|node\.example|api-key/);
  const read = parseActivation("A", text, seal);
  expect(read).toEqual({ ok: true, value: activation });
  const password = read.ok && read.value.kind === "coin" ? read.value.request.daemon?.password.reveal() : undefined;
  expect(password).toBe(activation.kind === "coin" ? activation.request.daemon?.password.reveal() : "");
});

test("the same activation is sealed differently each time", () => {
  const [one, two] = [0, 1].map(() => activationToText(kept({ daemon: DAEMON }), seal));
  expect(one).not.toBe(two);
});

test("what needs no secret is written as versions before did, and theirs is read", () => {
  const before = '{"v":1,"coin":"A","mm2":true,"requiredConfirmations":2,"txHistory":true}';
  expect(activationToText(kept({ nodes: { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined } }), seal)).toBe(
    before,
  );
  expect(parseActivation("A", before, seal)).toEqual({ ok: true, value: kept() });
});

test("another passphrase, another coin's row and any damage open nothing, and the reason tells nothing", () => {
  const text = activationToText(kept({ daemon: DAEMON }), seal) ?? "";
  const sealedAway = { ok: false, error: "it was sealed under another passphrase, or is damaged" };
  expect(parseActivation("A", text, sealOf(8))).toEqual(sealedAway);
  expect(parseActivation("B", text, seal)).toEqual(sealedAway);
  expect(
    parseActivation(
      "A",
      text.replace(/.(?="}$)/, (digit) => (digit === "0" ? "1" : "0")),
      seal,
    ),
  ).toEqual(sealedAway);
  const plain = activationToText(kept(), seal) ?? "";
  expect(parseActivation("B", plain, seal)).toEqual({ ok: false, error: "it is of another coin" });
  for (const bad of ["{", "{}", '{"v":2}', '{"v":2,"kind":"sealed"}', `${plain.slice(0, -1)},"extra":1}`])
    expect(parseActivation("A", bad, seal).ok).toBe(false);
  const odd = { v: 2, kind: "sealed", ...seal.close("A", '{"daemon":{"password":"pass-word"}}') };
  expect(parseActivation("A", JSON.stringify(odd), seal)).toEqual({ ok: false, error: "what is sealed in it is not understood" });
});

test("the certificate of a server that was accepted is kept with it", () => {
  const server = { url: "a:1", protocol: "SSL", anyCertificate: false, timeoutSec: undefined } as const;
  const electrum = {
    servers: [{ ...server, acceptCertificate: "ab".repeat(32) }, server],
    ...{ minConnected: undefined, maxConnected: undefined },
  };
  const text = activationToText(kept({ electrum }), seal) ?? "";
  expect(parseActivation("A", text, seal)).toEqual({ ok: true, value: kept({ electrum }) });
  expect(parseActivation("A", text.replace("ab".repeat(32), "AB:CD"), seal).ok).toBe(false);
});

test("a token is written with its platform coin and those it was enabled with", () => {
  const token = { kind: "token", token: { ticker: "T", requiredConfirmations: 3 }, platform: "ETH", batch: "S", aside: false } as const;
  for (const value of [token, { ...token, aside: true }])
    expect(parseActivation("T", activationToText(value, seal) ?? "", seal)).toEqual({ ok: true, value });
});

test("an address of a node that cannot be one is too long to be kept", () => {
  expect(activationToText(kept({ nodes: { ...NODES, urls: ["h".repeat(5_000)] } }), seal)).toBeNull();
});
