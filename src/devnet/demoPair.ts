import { decimal, type Rational, ZERO } from "../core/money/rational.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { DEMO_ACCOUNT_COINS, DEMO_COINS } from "./demoCoins.ts";
import { DEFAULT_TOPOLOGY, type Topology } from "./topology.ts";

/** What `--pair` may name: the demo's coin of that family. */
const COIN_OF = { UTXO: "DOC", ETH: "ETH", ERC20: "TEST-ERC20" } as const;
type Word = keyof typeof COIN_OF;
const WORDS = Object.keys(COIN_OF).join(", ");
const FUNDS = "100";

/** A demo: the maker sells `base` for `rel`. */
export type DemoPair = {
  readonly base: string;
  readonly rel: string;
  /** Every coin whose balances move: gas of tokens is paid in ETH. */
  readonly coins: readonly string[];
  readonly topology: Topology;
};

/** Two UTXO coins: needs nothing but this program. */
export const PLAIN_PAIR: DemoPair = { base: "DOC", rel: "MARTY", coins: ["DOC", "MARTY"], topology: DEFAULT_TOPOLOGY };

const isWord = (text: string): text is Word => Object.hasOwn(COIN_OF, text);

/** Reads `BASE/REL`, two different families. The error is part of a sentence. */
export function demoPair(text: string): Result<DemoPair, string> {
  const [baseWord = "", relWord = "", ...more] = text.toUpperCase().split("/");
  if (!isWord(baseWord) || !isWord(relWord) || more.length > 0 || baseWord === relWord)
    return err(`--pair takes two different ones of ${WORDS}, such as UTXO/ERC20, not ${JSON.stringify(text.slice(0, 40))}`);
  const [base, rel] = [COIN_OF[baseWord], COIN_OF[relWord]];
  const hasUtxo = baseWord === "UTXO" || relWord === "UTXO";
  const hasToken = baseWord === "ERC20" || relWord === "ERC20";
  const coins = [...(hasUtxo ? [COIN_OF.UTXO] : []), COIN_OF.ETH, ...(hasToken ? [COIN_OF.ERC20] : [])];
  const side = { enable: coins, fund: Object.fromEntries(coins.map((coin) => [coin, FUNDS])), seed: false, config: {} };
  const entries = [...DEMO_COINS, ...DEMO_ACCOUNT_COINS].filter(({ coin }) => coins.some((wanted) => wanted === coin));
  const seed = { name: "seed", seed: true, enable: [], fund: {}, config: {} };
  const topology = {
    coins: entries,
    block_time_s: 1,
    backend: "daemon" as const,
    nodes: [seed, { name: "alice", ...side }, { name: "bob", ...side }],
  };
  return ok({ base, rel, coins, topology });
}

/** What transactions of a side may cost in a coin at most: far more than they do. A token's are paid in ETH. */
export function feeBound(coin: string): Rational {
  if (coin === COIN_OF.ERC20) return ZERO;
  return decimal(coin === COIN_OF.ETH ? "0.01" : "0.001");
}
