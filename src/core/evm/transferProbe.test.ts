import { expect, test } from "vitest";
import { encodeWords } from "./abi.ts";
import { parseRoundTrip } from "./transferProbe.ts";

const TOLD = ["bytes32", "uint256", "uint256", "uint256", "uint256"] as const;

test("only an answer that begins with the probe's mark is one: code of the account's own may answer anything", () => {
  expect(parseRoundTrip(encodeWords(TOLD, [new Uint8Array(32), 5n, 5n, 5n, 5n]))).toMatchObject({ ok: false });
  expect(parseRoundTrip(new Uint8Array(0))).toMatchObject({ ok: false });
});
