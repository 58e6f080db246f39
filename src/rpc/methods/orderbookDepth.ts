import { z } from "zod";
import { err, ok, type Result } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { type Read, readList, readString, required } from "../field.ts";
import { NO_NETWORK } from "../networkFault.ts";
import { cut, wrongType } from "../serdeText.ts";

type Pair = readonly [base: string, rel: string];
type DepthError = { readonly kind: "WalletOnlyPairs"; readonly pairs: readonly Pair[] } | { readonly kind: "NoNetwork" };

const readPair: Read<Pair> = (value) => {
  if (!Array.isArray(value)) return err(wrongType(value, "a tuple of size 2"));
  const [base, rel]: unknown[] = value;
  const tickers: string[] = [];
  for (const ticker of [base, rel].slice(0, value.length)) {
    const read = readString(ticker);
    if (!read.ok) return read;
    tickers.push(read.value);
  }
  const [first, second] = tickers;
  if (first !== undefined && second !== undefined && value.length === 2) return ok([first, second]);
  return wrongLength(value.length);
};
const wrongLength = (length: number): Result<never, string> =>
  err(length < 2 ? `invalid length ${length}, expected a tuple of size 2` : `invalid length ${length}, expected fewer elements in array`);

const PAIRS = {
  type: "array",
  maxItems: 1_000,
  items: { type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 },
};

export const orderbookDepth = defineMethod<DepthError>()({
  name: "orderbook_depth",
  style: "both",
  struct: "OrderbookDepthReq",
  needsKeys: false,
  summary:
    "How many orders pairs have. Pairs this node follows are counted in its own book, a relay is asked about the others; a pair nobody tells of is left out of the reply.",
  source: "reference rpc.md 5.4",
  params: z.object({ pairs: required(readList(readPair), PAIRS).describe("Base and rel of each pair.") }),
  result: z.array(
    z.object({
      pair: z.array(z.string()).describe("Base and rel as asked."),
      depth: z.object({ asks: z.number().describe("Orders that sell base."), bids: z.number().describe("Orders that sell rel.") }),
    }),
  ),
  async handle({ pairs }, { coins, orderbook }, { signal }) {
    const tradable = (ticker: string): boolean => coins.entry(ticker)?.walletOnly === false;
    const bad = pairs.filter(([base, rel]) => !tradable(base) || !tradable(rel));
    if (bad.length > 0) return err({ kind: "WalletOnlyPairs", pairs: bad });
    const bookTicker = (ticker: string): string => coins.entry(ticker)?.orderbookTicker ?? ticker;
    const depths = await orderbook.depths(
      pairs.map(([base, rel]) => [bookTicker(base), bookTicker(rel)] as const),
      signal,
    );
    if (!depths.ok) return depths;
    return ok(
      depths.value.flatMap((depth, i) => {
        const pair = pairs[i];
        return depth && pair ? [{ pair: [...pair], depth: { asks: depth.asks, bids: depth.bids } }] : [];
      }),
    );
  },
  errors: {
    WalletOnlyPairs: {
      http: 400,
      when: "A coin of a pair is marked `wallet_only` or is not in the coins file.",
      text: (e) =>
        `Pairs [${cut(e.pairs.map(([b, r]) => `(${JSON.stringify(b)}, ${JSON.stringify(r)})`).join(", "))}] have wallet only coins`,
    },
    NoNetwork: NO_NETWORK,
  },
  examples: [
    {
      title: "A pair with one order, and one without",
      style: "flat",
      params: {
        pairs: [
          ["DOC", "MARTY"],
          ["KMD", "DOC"],
        ],
      },
      result: [
        { pair: ["DOC", "MARTY"], depth: { asks: 2, bids: 0 } },
        { pair: ["KMD", "DOC"], depth: { asks: 0, bids: 0 } },
      ],
    },
    {
      title: "A pair with orders",
      style: "v2",
      params: { pairs: [["MARTY", "DOC"]] },
      result: [{ pair: ["MARTY", "DOC"], depth: { asks: 0, bids: 2 } }],
    },
    { title: "A coin that is only kept, not traded", style: "flat", params: { pairs: [["DOC", "WALLET"]] }, error: "WalletOnlyPairs" },
  ],
});
