import { expect, test } from "vitest";
import { fromHex } from "../util/bytes.ts";
import { coinbaseHeight } from "./coinbaseHeight.ts";

const saying = (scriptSig: string) =>
  coinbaseHeight({
    version: 1,
    inputs: [{ txid: "00".repeat(32), vout: 0xffffffff, scriptSig: fromHex(scriptSig), sequence: 0xffffffff, witness: [] }],
    outputs: [],
    lockTime: 0,
  });

test.each<readonly [string, number | null, string]>([
  ["0340d10c192f5669614254432f", 840_000, "Bitcoin's"],
  ["037beb121a4d696e6564", 1_239_931, "Dash's, as recorded"],
  ["03ffff7f", 0x7fffff, "the last of three bytes"],
  ["0400008000", 0x800000, "the first that needs a fourth, for the sign"],
  ["0180", null, "one below nothing"],
  ["51", 1, "the first, as miners of test chains push it"],
  ["60", 16, "the last that has an opcode"],
  ["0111", 17, "the first that has none"],
  ["", null, "an empty script"],
  ["00", null, "nothing"],
  ["76a9", null, "no number"],
  ["0340d1", null, "a push that ends early"],
  ["050000000001", null, "more bytes than any height has"],
])("a coinbase with the script %s says %s: %s", (script, height) => {
  expect(saying(script)).toBe(height);
});
