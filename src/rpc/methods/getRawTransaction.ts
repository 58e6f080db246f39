import { z } from "zod";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { text, ticker } from "../field.ts";

type Failure =
  | NoSuchCoin
  | { readonly kind: "InvalidHashError"; readonly reason: string }
  | { readonly kind: "HashNotExist"; readonly hash: string };

export const getRawTransaction = defineMethod<Failure>()({
  name: "get_raw_transaction",
  style: "v2",
  struct: "RawTransactionRequest",
  summary:
    "Show a transaction that this node follows: one that pays or spends from the wallet, or is part of a swap of its own. The node asks no daemon for others.",
  source: "reference rpc.md 5.4; error names as in KDF's documentation",
  params: z.object({ coin: ticker(), tx_hash: text().describe("64 hex, as explorers show it.") }),
  result: z.object({ tx_hex: z.string() }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const wrong = /[^0-9a-fA-F]/u.exec(p.tx_hash);
    if (wrong) return err({ kind: "InvalidHashError", reason: `Invalid character '${wrong[0]}' at position ${wrong.index}` });
    if (p.tx_hash.length !== 64) return err({ kind: "InvalidHashError", reason: "Invalid input length" });
    const raw = await coin.value.rawTx(p.tx_hash.toLowerCase());
    return raw ? ok({ tx_hex: toHex(raw) }) : err({ kind: "HashNotExist", hash: p.tx_hash });
  },
  errors: {
    NoSuchCoin: noSuchCoin(false),
    InvalidHashError: {
      http: 400,
      when: "`tx_hash` is not 64 hex digits.",
      // Two blanks, as KDF writes it.
      text: ({ reason }) => `Invalid  hash: ${reason}`,
      data: ({ reason }) => reason,
    },
    HashNotExist: {
      http: 400,
      when: "The node follows no such transaction.",
      text: ({ hash }) => `Hash does not exist: ${hash}`,
      data: ({ hash }) => hash,
    },
  },
  examples: [
    {
      title: "A transaction of the wallet",
      style: "v2",
      params: { coin: "DOC", tx_hash: "0000000000000000000000000000000000000000000000000000000000000001" },
      result: { tx_hex: "0400008085202f89" },
    },
    { title: "Not a hash", style: "v2", params: { coin: "DOC", tx_hash: "00" }, error: "InvalidHashError" },
    {
      title: "A transaction of others",
      style: "v2",
      params: { coin: "DOC", tx_hash: "0000000000000000000000000000000000000000000000000000000000000002" },
      error: "HashNotExist",
    },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD", tx_hash: "00" }, error: "NoSuchCoin" },
  ],
});
