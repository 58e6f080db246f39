import { serializeHeader } from "../../src/chain/block.ts";
import type { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { toHex } from "../../src/core/util/bytes.ts";

/** Blocks that stay where they are: who asks for these wants to know which chain it is. */
const TRUE_UP_TO = 9;

/** The headers of so many blocks of a chain, as far as there are any. */
export function headersOf(chain: EmbeddedChain, from: number, count: number): string {
  return Array.from({ length: count }, (_, i) => chain.state.at(from + i))
    .flatMap((entry) => (entry ? [toHex(serializeHeader(entry.block.header))] : []))
    .join("");
}

/** The answer to a call for headers of who has each block, but for the first ones, `by` heights above its own; any other answer as it is. */
export function withRaisedHeaders(chain: EmbeddedChain, by: number, line: string, call: string): string {
  const [, name, params] = /"blockchain\.block\.(headers?)","params":\[([0-9,]+)\]/.exec(call) ?? [];
  const [from = 0, count = 1] = (params ?? "").split(",").map(Number);
  if (name === undefined || from <= TRUE_UP_TO) return line;
  const headers = headersOf(chain, from - by, name === "headers" ? count : 1);
  return name === "header"
    ? line.replace(/"result":"[0-9a-f]+"/, `"result":"${headers}"`).replace(/"error":\{[^}]*\}/, `"result":"${headers}"`)
    : line.replace(/"hex":"[0-9a-f]*"/, `"hex":"${headers}"`);
}
