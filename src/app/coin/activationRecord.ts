import { z } from "zod";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import type { ActivationSeal } from "./activationSeal.ts";
import type { EnableRequest } from "./enabling.ts";
import type { TokenRequest } from "./evmParts.ts";

/** How a coin was enabled: by itself, or as one of several tokens beside their platform coin. */
export type KeptActivation =
  | {
      readonly kind: "coin";
      readonly request: EnableRequest;
      /** Disabled, and there for its enabled tokens or for swaps alone. */
      readonly aside: boolean;
    }
  | {
      readonly kind: "token";
      readonly token: TokenRequest;
      readonly platform: string;
      /** Those of one name were enabled at once. */
      readonly batch: string;
      /** Disabled, and there for swaps alone. */
      readonly aside: boolean;
    };

const MAX_ERROR_CHARS = 200;
const count = z.int().min(0);
const ticker = z.string().max(64);
const server = z.strictObject({
  url: z.string().max(1_000),
  protocol: z.enum(["TCP", "SSL", "WS", "WSS"]),
  anyCertificate: z.boolean(),
  acceptCertificate: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  timeoutSec: z.number().positive().optional(),
});
const plainCoin = z.strictObject({
  v: z.literal(1),
  coin: ticker,
  mm2: z.boolean(),
  requiredConfirmations: count.optional(),
  requiresNotarization: z.boolean().optional(),
  electrum: z
    .strictObject({ servers: z.array(server).max(100), minConnected: count.optional(), maxConnected: count.optional() })
    .optional(),
  birthdayHeight: count.optional(),
  txHistory: z.boolean(),
  addressFormat: z.enum(["standard", "segwit", "cashaddress"]).optional(),
  merge: z.strictObject({ mergeAt: count, checkEverySec: z.int().min(1), maxMergeAtOnce: count }).optional(),
});
const secretText = z.string().max(4_096);
/** What is sealed: the same, with what is not to be written down. */
const secretCoin = plainCoin.extend({
  daemon: z.strictObject({ url: secretText, user: secretText, password: secretText }).optional(),
  nodes: z
    .strictObject({
      urls: z.array(secretText).max(32).optional(),
      swapContract: z.string().max(100).optional(),
      fallbackSwapContract: z.string().max(100).optional(),
      gasPolicy: z.enum(["legacy", "low", "medium", "high"]).optional(),
    })
    .optional(),
  aside: z.boolean().optional(),
});
const sealedCoin = z.strictObject({
  v: z.literal(2),
  kind: z.literal("sealed"),
  nonce: z.string().max(100),
  sealed: z.string().max(1_000_000),
});
const token = z.strictObject({
  v: z.literal(2),
  kind: z.literal("token"),
  coin: ticker,
  platform: ticker,
  batch: ticker,
  requiredConfirmations: count.optional(),
  aside: z.boolean().optional(),
});
const record = z.union([plainCoin, sealedCoin, token]);

/**
 * How to enable a coin again, as text. What names a daemon with its password or the nodes of an account chain, whose addresses hold
 * keys, is sealed. Null: it is too long to be kept.
 */
export function activationToText(kept: KeptActivation, seal: ActivationSeal): string | null {
  if (kept.kind === "token") {
    const { token: asked, platform, batch, aside } = kept;
    const written: z.input<typeof token> = {
      ...{ v: 2, kind: "token", coin: asked.ticker, platform, batch },
      requiredConfirmations: asked.requiredConfirmations,
      ...(aside ? { aside } : {}),
    };
    return JSON.stringify(written);
  }
  const { request, aside } = kept;
  const { daemon, electrum, nodes, coin, mm2, requiredConfirmations, requiresNotarization, birthdayHeight, addressFormat, merge } = request;
  const written: z.input<typeof plainCoin> = {
    ...{
      v: 1,
      coin,
      mm2,
      requiredConfirmations,
      requiresNotarization,
      birthdayHeight,
      addressFormat,
      merge,
      txHistory: request.txHistory ?? false,
    },
    ...(electrum ? { electrum: { ...electrum, servers: electrum.servers.map((s) => ({ ...s })) } } : {}),
  };
  const isSecret = daemon || nodes?.urls || nodes?.swapContract || nodes?.fallbackSwapContract || nodes?.gasPolicy || aside;
  if (!isSecret) return JSON.stringify(written);
  const secret: z.input<typeof secretCoin> = {
    ...written,
    ...(daemon ? { daemon: { url: daemon.url, user: daemon.user, password: daemon.password.reveal() } } : {}),
    ...(nodes ? { nodes: { ...nodes, urls: nodes.urls && [...nodes.urls] } } : {}),
    aside,
  };
  if (!secretCoin.safeParse(secret).success) return null;
  const box: z.input<typeof sealedCoin> = { v: 2, kind: "sealed", ...seal.close(coin, JSON.stringify(secret)) };
  return JSON.stringify(box);
}

/** Reads such a text of a coin. The error is a sentence's end and tells nothing of what is sealed. */
export function parseActivation(coin: string, text: string, seal: ActivationSeal): Result<KeptActivation, string> {
  const read = readActivation(coin, text, seal);
  return read.ok && tickerOf(read.value) !== coin ? err("it is of another coin") : read;
}

/** The coin it is of. */
export const tickerOf = (kept: KeptActivation): string => (kept.kind === "coin" ? kept.request.coin : kept.token.ticker);

function readActivation(coin: string, text: string, seal: ActivationSeal): Result<KeptActivation, string> {
  const value = readJson(text);
  if (!value.ok) return value;
  const read = record.safeParse(value.value);
  if (!read.success) return err((read.error.issues[0]?.message ?? "it is not understood").slice(0, MAX_ERROR_CHARS));
  if (read.data.v === 1) return ok(coinOf(read.data));
  if (read.data.kind === "token") {
    const { platform, batch, requiredConfirmations, aside = false } = read.data;
    return ok({ kind: "token", token: { ticker: read.data.coin, requiredConfirmations }, platform, batch, aside });
  }
  const opened = seal.open(coin, read.data);
  if (!opened.ok) return err("it was sealed under another passphrase, or is damaged");
  const inner = readJson(opened.value);
  const secret = inner.ok ? secretCoin.safeParse(inner.value) : null;
  return secret?.success ? ok(coinOf(secret.data)) : err("what is sealed in it is not understood");
}

function readJson(text: string): Result<unknown, string> {
  try {
    return ok(JSON.parse(text));
  } catch {
    return err("it is not JSON");
  }
}

function coinOf(read: z.output<typeof secretCoin>): KeptActivation {
  const { v: _, aside = false, electrum, daemon, nodes, ...rest } = read;
  const request: EnableRequest = {
    coin: rest.coin,
    mm2: rest.mm2,
    requiredConfirmations: rest.requiredConfirmations,
    requiresNotarization: rest.requiresNotarization,
    daemon: daemon && { url: daemon.url, user: daemon.user, password: new Secret(daemon.password) },
    electrum: electrum && {
      servers: electrum.servers.map(({ acceptCertificate, ...s }) => ({
        ...s,
        timeoutSec: s.timeoutSec,
        ...(acceptCertificate === undefined ? {} : { acceptCertificate }),
      })),
      minConnected: electrum.minConnected,
      maxConnected: electrum.maxConnected,
    },
    birthdayHeight: rest.birthdayHeight,
    rescan: false,
    txHistory: rest.txHistory,
    addressFormat: rest.addressFormat,
    merge: rest.merge,
    ...(nodes
      ? {
          nodes: {
            urls: nodes.urls,
            swapContract: nodes.swapContract,
            fallbackSwapContract: nodes.fallbackSwapContract,
            ...(nodes.gasPolicy ? { gasPolicy: nodes.gasPolicy } : {}),
          },
        }
      : {}),
  };
  return { kind: "coin", request, aside };
}
