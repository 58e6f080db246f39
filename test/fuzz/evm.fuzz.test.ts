import { keccak_256 } from "@noble/hashes/sha3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { expect, test } from "vitest";
import {
  type AnswerParser,
  parseData,
  parseFeeHistory,
  parseGas,
  parseLogs,
  parseMaybeData,
  parseMaybeHeader,
  parseNonce,
  parseQuantity,
  parseReceipt,
  parseTxAnswer,
  parseTxHash,
} from "../../src/adapters/evmRpc/answers.ts";
import { parseNodeUrl } from "../../src/adapters/evmRpc/nodeUrl.ts";
import { rebuildTx } from "../../src/adapters/evmRpc/rebuildTx.ts";
import { parseWsText } from "../../src/adapters/evmRpc/wsCalls.ts";
import { encodeWords } from "../../src/core/evm/abi.ts";
import { addressFromBytes, checksumAddress, parseAddress, parseAnyCaseAddress } from "../../src/core/evm/address.ts";
import { parseOracleFee } from "../../src/core/evm/dataCost.ts";
import { approveCall, parseErc20Call, parseTransferEvent, transferCall } from "../../src/core/evm/erc20.ts";
import { signEthMessage, verifyEthMessage } from "../../src/core/evm/ethMessage.ts";
import { parseContractAddress } from "../../src/core/evm/evmKind.ts";
import { parseGasLimits } from "../../src/core/evm/gasLimits.ts";
import { parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { encodeRlp, parseRlp } from "../../src/core/evm/rlp.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { encodeSwapCall, parsePaymentRecord, parseSwapCall, parseSwapEvent, SWAP_TOPICS } from "../../src/core/evm/swapContract.ts";
import { parseRoundTrip } from "../../src/core/evm/transferProbe.ts";
import { serializeEvmTx } from "../../src/core/evm/txFields.ts";
import { keyPairFromScalar } from "../../src/core/keys/keyPair.ts";
import { equalBytes, toHex } from "../../src/core/util/bytes.ts";
import { WsFrameReader } from "../../src/wire/wsFrames.ts";
import { eventLogJson, headerJson, OWNER, PAYMENT_ID, ScriptedEvm, txJson } from "../evm/support/scriptedEvm.ts";
import { mutateBytes, mutateText, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

/** One input may take so long to read: a signature is recovered in some milliseconds. */
const SLOW_MS = 500;

const KEY = keyPairFromScalar(new Uint8Array(32).fill(9)) ?? expect.fail("a bad key");
const COMMON = { chainId: 1n, nonce: 3n, gasLimit: 90_000n, to: OWNER, value: 7n, data: new Uint8Array(70).fill(1) };
const LIST = [{ address: OWNER, storageKeys: [new Uint8Array(32).fill(4)] }];
const TXS = [
  signEvmTx({ type: "legacy", ...COMMON, gasPrice: 5n }, KEY).raw,
  signEvmTx({ type: "eip2930", ...COMMON, gasPrice: 5n, accessList: LIST }, KEY).raw,
  signEvmTx({ type: "eip1559", ...COMMON, maxFeePerGas: 9n, maxPriorityFeePerGas: 5n, accessList: LIST }, KEY).raw,
];
const WORD = new Uint8Array(32).fill(7);
const HASH = new Uint8Array(20).fill(8);
const CALLS = [
  encodeSwapCall({ kind: "ethPayment", id: WORD, receiver: OWNER, secretHash: HASH, lockTime: 9n }),
  encodeSwapCall({ kind: "erc20Payment", id: WORD, amount: 1n, token: OWNER, receiver: OWNER, secretHash: HASH, lockTime: 9n }),
  encodeSwapCall({ kind: "receiverSpend", id: WORD, amount: 1n, secret: WORD, token: OWNER, sender: OWNER }),
  encodeSwapCall({ kind: "senderRefund", id: WORD, amount: 1n, secretHash: HASH, token: OWNER, receiver: OWNER }),
];

/** Whether it is slow every time: a busy machine stands still now and then. */
function isSlow(work: () => void): boolean {
  return [1, 2, 3].every(() => {
    const startMs = performance.now();
    work();
    return performance.now() - startMs > SLOW_MS;
  });
}

/** Feeds `RUNS` damaged inputs and sees that some are refused, none is thrown at, none is slow and none leaves memory behind. */
function feed<T>(goods: readonly T[], damage: (good: T, pick: ReturnType<typeof source>) => T, read: (input: T) => boolean): void {
  const pick = source(SEED);
  const memory = watchMemory();
  for (const good of goods) expect(read(good)).toBe(true);
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const [good] = goods.slice(i % goods.length);
    if (good === undefined) throw new Error("nothing to damage");
    const input = damage(good, pick);
    const startMs = performance.now();
    if (!read(input)) refused++;
    if (performance.now() - startMs > SLOW_MS && isSlow(() => read(input))) throw new Error(`input ${i} took too long`);
  }
  memory.check();
  expect(refused).toBeGreaterThan(RUNS / 20);
}

test(`${RUNS} damaged transactions (seed ${SEED}) are refused, or read in a form that writes the same bytes`, () => {
  feed(TXS, mutateBytes, (raw) => {
    const parsed = parseEvmTx(raw);
    if (!parsed.ok) return false;
    if (!equalBytes(serializeEvmTx(parsed.value.tx, parsed.value.signature), raw)) throw new Error(`two forms of ${toHex(raw)}`);
    return true;
  });
});

test(`${RUNS} damaged lists (seed ${SEED}) are refused, or read in a form that encodes to the same bytes`, () => {
  const lists = TXS.map((raw) => ((raw[0] ?? 0) < 0xc0 ? raw.subarray(1) : raw));
  feed(lists, mutateBytes, (bytes) => {
    const parsed = parseRlp(bytes);
    if (parsed.ok && !equalBytes(encodeRlp(parsed.value), bytes)) throw new Error(`two forms of ${toHex(bytes)}`);
    return parsed.ok;
  });
});

test(`${RUNS} damaged calls (seed ${SEED}) are refused, or read as the call that encodes to the same bytes`, () => {
  feed(CALLS, mutateBytes, (data) => {
    const parsed = parseSwapCall(data);
    if (parsed.ok && !equalBytes(encodeSwapCall(parsed.value), data)) throw new Error(`two forms of ${toHex(data)}`);
    return parsed.ok;
  });
  feed([transferCall(OWNER, 5n), approveCall(OWNER, 5n)], mutateBytes, (data) => parseErc20Call(data).ok);
  feed([new Uint8Array(96)], mutateBytes, (data) => parsePaymentRecord(data).ok);
  const trip = encodeWords(
    ["bytes32", "uint256", "uint256", "uint256", "uint256"],
    [keccak_256(utf8ToBytes("swapnode transfer probe")), 5n, 5n, 5n, 5n],
  );
  feed([trip], mutateBytes, (data) => parseRoundTrip(data).ok);
  feed([encodeWords(["uint256"], [10n ** 12n])], mutateBytes, (data) => parseOracleFee(data).ok);
  feed([new Uint8Array(32)], mutateBytes, (data) => parseSwapEvent([SWAP_TOPICS.sent], data).ok);
  const topics = ["ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", OWNER.padStart(64, "0"), OWNER.padStart(64, "0")];
  feed(topics.slice(1), mutateText, (topic) => parseTransferEvent([topics[0] ?? "", topics[1] ?? "", topic], WORD).ok);
});

test(`${RUNS} damaged addresses, URLs, signatures and gas limits (seed ${SEED}) are read or refused`, () => {
  const address = checksumAddress(addressFromBytes(HASH));
  feed([address], mutateText, (text) => parseAddress(text).ok && parseAnyCaseAddress(text).ok);
  feed([address, address.toLowerCase()], mutateText, (text) => parseContractAddress(text).ok);
  feed(
    ["https://user:pw@node.example:8545/key"],
    (text, pick) => mutateText(text, pick).slice(pick(9)),
    (text) => parseNodeUrl(text).ok,
  );
  const signature = signEthMessage("p", "m", KEY);
  feed([signature], mutateText, (text) => verifyEthMessage("p", "m", text, OWNER).ok);
  feed(['{"eth_payment":65000}'], mutateText, (text) => {
    try {
      return parseGasLimits(JSON.parse(text)) !== null;
    } catch (cause) {
      if (cause instanceof SyntaxError) return false;
      throw cause;
    }
  });
});

const evm = new ScriptedEvm();
const [paid] = evm.mine([{ kind: "sent", id: PAYMENT_ID }]);
if (paid === undefined) throw new Error("nothing mined");
const LOG = eventLogJson(evm.tip, paid.txid, { kind: "spent", id: PAYMENT_ID });
const RECEIPT = { ...LOG, status: "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [LOG, LOG] };

const ANSWERS: readonly (readonly [method: string, answer: unknown, parse: AnswerParser<unknown>])[] = [
  ["eth_chainId", "0x1", parseQuantity],
  ["eth_getTransactionCount", "0x1f", parseNonce],
  ["eth_estimateGas", "0x5208", parseGas],
  ["eth_getBlockByNumber", headerJson(evm.tip), parseMaybeHeader],
  ["eth_call", `0x${toHex(WORD)}`, parseData],
  ["eth_getRawTransactionByHash", `0x${toHex(paid.raw)}`, parseMaybeData],
  ["eth_sendRawTransaction", `0x${paid.txid}`, parseTxHash],
  ["eth_getTransactionReceipt", RECEIPT, parseReceipt],
  ["eth_getTransactionByHash", txJson(paid), parseTxAnswer],
  ["eth_getLogs", [LOG, LOG], parseLogs],
  ["eth_feeHistory", { baseFeePerGas: ["0x1", "0x2"], reward: [["0x1", "0x2", "0x3"]] }, parseFeeHistory],
];

test.each(ANSWERS)(`%s: ${RUNS} damaged answers (seed ${SEED}) are read or refused, never thrown at`, (_method, answer, parse) => {
  feed([JSON.stringify(answer)], mutateText, (text) => {
    const messages = parseWsText(text);
    const [message] = messages === null ? [] : text.startsWith("[") ? [messages] : messages;
    const parsed = parse(message);
    if (!parsed.ok && parsed.error.detail.length > 200) throw new Error("a long detail");
    return parsed.ok;
  });
});

test(`${RUNS} damaged transaction fields (seed ${SEED}) never give other bytes than those of the id`, () => {
  const txid = paid.txid;
  feed([JSON.stringify(txJson(paid))], mutateText, (text) => {
    const [message] = parseWsText(text) ?? [];
    const parsed = parseTxAnswer(message);
    if (!parsed.ok || parsed.value === null) return false;
    const raw = rebuildTx(parsed.value, txid);
    if (raw !== null && !equalBytes(raw, paid.raw)) throw new Error("other bytes with the same id");
    return raw !== null;
  });
});

test(`${RUNS} damaged streams of frames (seed ${SEED}) are read or refused within the bound`, () => {
  const frame = Buffer.concat([
    Buffer.from([0x81, 5]),
    Buffer.from("hello"),
    Buffer.from([0x89, 0]),
    Buffer.from([0x01, 1, 65, 0x80, 1, 66]),
  ]);
  feed([new Uint8Array(frame)], mutateBytes, (bytes) => {
    const reader = new WsFrameReader(1_000);
    const half = Math.floor(bytes.length / 2);
    const first = reader.push(Buffer.from(bytes.subarray(0, half)));
    return first.ok && reader.push(Buffer.from(bytes.subarray(half))).ok;
  });
});
