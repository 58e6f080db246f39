import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CoinEntry, parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { coinSupport } from "../../src/core/coin/coinSupport.ts";
import { isEvmProtocol } from "../../src/core/coin/evmProtocol.ts";
import { isFeeProtocol } from "../../src/core/coin/feeCoin.ts";
import { utxoKind } from "../../src/core/coin/utxoKind.ts";
import { headerRulesOf, type ProofOfWork } from "../../src/core/proof/headerRules.ts";
import type { Generated } from "../gen.ts";
import { ROOT } from "../sourceFiles.ts";

const COINS_FILE = join(process.env.SWAPNODE_SHARED ?? join(ROOT, "../shared"), "data/coins.json");

/** The table stands between these two lines; everything else of the document is written by hand. */
const DOCUMENT = "docs/compatibility.md";
const BEGIN = "<!-- coins: written by npm run gen, do not edit -->";
const END = "<!-- end of coins -->";

function readEntries(): CoinEntry[] {
  const coins: unknown = JSON.parse(readFileSync(COINS_FILE, "utf8"));
  if (!Array.isArray(coins)) throw new Error(`${COINS_FILE} is not a list`);
  return coins.map((value) => {
    const entry = parseCoinEntry(value);
    if (!entry.ok) throw new Error(`${entry.error.coin}: ${entry.error.field} ${entry.error.detail}`);
    return entry.value;
  });
}

const cell = (text: string): string => text.replaceAll("|", "\\|");
const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");

function byTicker(a: CoinEntry, b: CoinEntry): number {
  return a.ticker < b.ticker ? -1 : a.ticker > b.ticker ? 1 : 0;
}

const WORK_TEXT: { readonly [kind in ProofOfWork["kind"]]: string } = {
  sha256d: "links, SHA-256 work, targets",
  scrypt: "links, scrypt work, targets",
  mergedScrypt: "links, scrypt work of parent chains, targets",
  equihash: "links, Equihash solutions",
  unchecked: "links",
};

/** What is checked of the headers that Electrum servers send; empty for a coin this node does not hold. */
function headersText(entry: CoinEntry): string {
  const kind = utxoKind(entry);
  if (!kind.ok) return "";
  const rules = headerRulesOf(entry, kind.value);
  return rules.ok ? WORK_TEXT[rules.value.work.kind] : `with a daemon only: ${rules.error.reason}`;
}

function render(entries: readonly CoinEntry[]): string {
  const coins = [...entries].sort(byTicker).map((entry) => ({ entry, support: coinSupport(entry) }));
  const good = coins.filter((c) => c.support.tradeable);
  const utxoRefused = coins.filter((c) => !c.support.tradeable && c.entry.protocol.type === "UTXO");
  const protocols = new Map<string, number>();
  for (const { entry } of coins) {
    if (entry.protocol.type !== "UTXO") protocols.set(entry.protocol.type, (protocols.get(entry.protocol.type) ?? 0) + 1);
  }
  const tradeable = good.map(({ entry, support }) => [
    entry.ticker,
    entry.name,
    support.address,
    support.txFormat,
    support.sighash,
    support.relayPolicy,
    headersText(entry),
  ]);
  const refused = utxoRefused.map(({ entry, support }) => [entry.ticker, entry.name, support.reason]);
  return [
    `### UTXO coins that trade: ${good.length} of ${good.length + utxoRefused.length}\n`,
    table(["Ticker", "Name", "Own address", "Transactions", "Signature hash", "Relay policy", "Headers from Electrum"], tradeable),
    `\n### UTXO coins that are refused: ${utxoRefused.length}\n`,
    table(["Ticker", "Name", "Reason"], refused),
    "\n### Other protocols\n",
    table(
      ["Protocol", "Coins", "This node"],
      [...protocols].sort(([a], [b]) => (a < b ? -1 : 1)).map(([type, count]) => [type, String(count), what(type)]),
    ),
  ].join("\n");
}

function what(type: string): string {
  if (isEvmProtocol(type)) return "trades them";
  return isFeeProtocol(type) ? "tells their fees, nothing else" : "refuses them";
}

/** The document with the table as it is now. Throws when the two lines are not there, in this order. */
function withTable(text: string, coins: string): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${DOCUMENT} lacks the lines ${BEGIN} and ${END}`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${coins}\n\n${text.slice(end)}`;
}

/** What this node can do with each coin of the coins file, and why not, in docs/compatibility.md. */
export function generate(): Generated[] {
  if (!existsSync(COINS_FILE)) return [{ path: DOCUMENT, content: null }];
  return [{ path: DOCUMENT, content: withTable(readFileSync(join(ROOT, DOCUMENT), "utf8"), render(readEntries())) }];
}
