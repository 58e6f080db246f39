import { z } from "zod";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { EnableRequest } from "./coinRegistry.ts";

const MAX_ERROR_CHARS = 200;
const count = z.int().min(0);
const server = z.strictObject({
  url: z.string().max(1_000),
  protocol: z.enum(["TCP", "SSL", "WS", "WSS"]),
  anyCertificate: z.boolean(),
  timeoutSec: z.number().positive().optional(),
});
const record = z.strictObject({
  v: z.literal(1),
  coin: z.string().max(64),
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

/**
 * How to enable a coin again, as text; null where the request names what is not to be written down: the address of a daemon with its
 * password, the nodes of an account chain, whose addresses hold keys.
 */
export function activationToText(request: EnableRequest): string | null {
  const { daemon, electrum, nodes, coin, mm2, requiredConfirmations, requiresNotarization, birthdayHeight, addressFormat, merge } = request;
  if (daemon || nodes?.urls || nodes?.swapContract) return null;
  const written: z.input<typeof record> = {
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
  return JSON.stringify(written);
}

/** Reads such a text. The error is a sentence's end. */
export function parseActivation(text: string): Result<EnableRequest, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err("it is not JSON");
  }
  const parsed = record.safeParse(value);
  if (!parsed.success) return err((parsed.error.issues[0]?.message ?? "it is not understood").slice(0, MAX_ERROR_CHARS));
  const { v: _, electrum, ...rest } = parsed.data;
  return ok({
    coin: rest.coin,
    mm2: rest.mm2,
    requiredConfirmations: rest.requiredConfirmations,
    requiresNotarization: rest.requiresNotarization,
    daemon: undefined,
    electrum: electrum && {
      servers: electrum.servers.map((s) => ({ ...s, timeoutSec: s.timeoutSec })),
      minConnected: electrum.minConnected,
      maxConnected: electrum.maxConnected,
    },
    birthdayHeight: rest.birthdayHeight,
    rescan: false,
    txHistory: rest.txHistory,
    addressFormat: rest.addressFormat,
    merge: rest.merge,
  });
}
