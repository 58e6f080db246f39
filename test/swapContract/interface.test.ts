import { readFileSync } from "node:fs";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SWAPNODE_SWAP_CREATION_CODE, SWAPNODE_SWAP_RUNTIME_CODE } from "../../src/core/evm/contract/swapnodeSwap.ts";
import { TEST_TOKEN_CREATION_CODE } from "../../src/core/evm/contract/testToken.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { artifact } from "./support/artifacts.ts";
import { openSwapChain, type SwapChain, secretHash } from "./support/swapChain.ts";

const vectors = JSON.parse(readFileSync(new URL("../vectors/swapContract/swapContract.json", import.meta.url), "utf8"));
const { constructed, mainnetPayment } = vectors;
const keccak = (text: string): string => bytesToHex(keccak_256(utf8ToBytes(text)));

test("the functions of the interface have its selectors, and there are only two more", () => {
  const { "spendFor(bytes32,uint256,bytes32,address,address,address)": spendFor, ...others } = artifact("SwapnodeSwap").selectors;
  const { "refundFor(bytes32,uint256,bytes20,address,address,address)": refundFor, ...interfaceOnly } = others;
  expect(interfaceOnly).toEqual(vectors.selectors);
  expect([spendFor, refundFor]).toEqual(["3f88df86", "1d090b58"]);
  for (const [signature, selector] of Object.entries(artifact("SwapnodeSwap").selectors))
    expect(keccak(signature).slice(0, 8)).toBe(selector);
});

type Entry = {
  readonly type: string;
  readonly name: string;
  readonly inputs: readonly { readonly type: string; readonly indexed?: boolean }[];
  readonly outputs?: readonly { readonly name: string; readonly type: string }[];
  readonly stateMutability?: string;
};

test("the events of the interface have its topics and no indexed argument", () => {
  const events = (artifact("SwapnodeSwap").abi as unknown as Entry[]).filter(({ type }) => type === "event");
  expect(
    Object.fromEntries(events.map((e) => [`${e.name}(${e.inputs.map((i) => i.type)})`, e]).map(([s]) => [s, keccak(String(s))])),
  ).toEqual(vectors.topics);
  expect(events.flatMap(({ inputs }) => inputs.filter(({ indexed }) => indexed))).toEqual([]);
});

test("payments answers hash, lock time and state; only the native payment takes coins; nothing takes coins without a call", () => {
  const abi = artifact("SwapnodeSwap").abi as unknown as Entry[];
  const getter = abi.find(({ name }) => name === "payments");
  expect(getter?.outputs?.map(({ name, type }) => [name, type])).toEqual([
    ["paymentHash", "bytes20"],
    ["lockTime", "uint64"],
    ["state", "uint8"],
  ]);
  expect(abi.filter(({ stateMutability }) => stateMutability === "payable").map(({ name }) => name)).toEqual(["ethPayment"]);
  expect(abi.filter(({ type }) => type === "receive" || type === "fallback")).toEqual([]);
});

test("the code that the program carries is the compiled one", () => {
  const { creationCode, runtimeCode } = artifact("SwapnodeSwap");
  expect(SWAPNODE_SWAP_CREATION_CODE).toBe(creationCode);
  expect(SWAPNODE_SWAP_RUNTIME_CODE).toBe(runtimeCode);
  expect(TEST_TOKEN_CREATION_CODE).toBe(artifact("TestToken").creationCode);
});

/** Op-codes in the order of the code, without the data that PUSH brings along. */
function opcodes(code: Uint8Array): number[] {
  const found: number[] = [];
  for (let i = 0; i < code.length; i++) {
    const op = code[i] ?? 0;
    found.push(op);
    if (op >= 0x60 && op <= 0x7f) i += op - 0x5f;
  }
  return found;
}

test("the code can neither destroy itself, nor run foreign code in its place, nor make contracts, and needs nothing newer than Istanbul", () => {
  const used = opcodes(hexToBytes(SWAPNODE_SWAP_RUNTIME_CODE));
  const forbidden = {
    CALLCODE: 0xf2,
    DELEGATECALL: 0xf4,
    CREATE: 0xf0,
    CREATE2: 0xf5,
    SELFDESTRUCT: 0xff,
    BASEFEE: 0x48,
    PUSH0: 0x5f,
    MCOPY: 0x5e,
    TLOAD: 0x5c,
    TSTORE: 0x5d,
    BLOBHASH: 0x49,
  };
  expect(Object.entries(forbidden).filter(([, op]) => used.includes(op))).toEqual([]);
  expect(used).toContain(0xf1);
});

for (const hardfork of ["istanbul", "prague"]) {
  describe.skipIf(noAnvil)(`recorded calls on a chain with the rules of ${hardfork}${noAnvilReason}`, () => {
    let chain: SwapChain;
    beforeAll(async () => {
      chain = await openSwapChain({ hardfork });
      for (const address of [constructed.maker, constructed.taker, `0x${mainnetPayment.receiver}`]) {
        await chain.anvil.call("anvil_impersonateAccount", [address]);
        await chain.anvil.call("anvil_setBalance", [address, "0xde0b6b3a7640000"]);
      }
    });
    afterAll(() => chain?.stop());

    const id = hexToBytes(constructed.id);
    const call = (method: "ethPayment" | "receiverSpend" | "senderRefund", from: string, atSec?: number, value = 0n) => ({
      from,
      to: chain.swap,
      data: `0x${constructed[method]}`,
      value,
      ...(atSec === undefined ? {} : { atSec }),
    });
    const undo = async (steps: () => Promise<void>): Promise<void> => {
      const before = await chain.anvil.call("evm_snapshot");
      await steps();
      await chain.anvil.call("evm_revert", [before]);
    };

    test("what stands on the chain is the committed runtime code", async () => {
      expect(await chain.anvil.call("eth_getCode", [chain.swap, "latest"])).toBe(`0x${SWAPNODE_SWAP_RUNTIME_CODE}`);
    });

    test("the payment is accepted, and its hash, lock time and state are stored", async () => {
      const sent = await chain.must(call("ethPayment", constructed.maker, undefined, BigInt(constructed.amountWei)));
      expect(sent.logs.map(({ address, topics, data }) => ({ address, topics, data }))).toEqual([
        { address: chain.swap, topics: [`0x${vectors.topics["PaymentSent(bytes32)"]}`], data: `0x${constructed.id}` },
      ]);
      expect(await chain.payment(id)).toEqual({
        paymentHash: `0x${constructed.paymentHash}`,
        lockTime: BigInt(constructed.lockTime),
        state: 1n,
      });
      expect(bytesToHex(secretHash(hexToBytes(constructed.secret)))).toBe(constructed.ethPayment.slice(8 + 128, 8 + 128 + 40));
    });

    test("the refund is refused one second before the lock time and accepted at it", () =>
      undo(async () => {
        expect((await chain.send(call("senderRefund", constructed.maker, constructed.lockTime - 1))).error).toBe("TooEarly");
        const sent = await chain.must(call("senderRefund", constructed.maker, constructed.lockTime));
        expect(sent.logs.map(({ topics, data }) => ({ topics, data }))).toEqual([
          { topics: [`0x${vectors.topics["SenderRefunded(bytes32)"]}`], data: `0x${constructed.id}` },
        ]);
        expect((await chain.payment(id)).state).toBe(3n);
      }));

    test("the spend is accepted, also after the lock time, and shows id and secret", async () => {
      const sent = await chain.must(call("receiverSpend", constructed.taker, constructed.lockTime + 100_000));
      expect(sent.logs.map(({ topics, data }) => ({ topics, data }))).toEqual([
        { topics: [`0x${vectors.topics["ReceiverSpent(bytes32,bytes32)"]}`], data: `0x${constructed.id}${constructed.secret}` },
      ]);
      expect((await chain.payment(id)).state).toBe(2n);
    });

    test("the calldata of a payment made on Ethereum is accepted", async () => {
      await chain.must({ from: constructed.maker, to: chain.swap, data: `0x${mainnetPayment.data}`, value: 1n });
      expect(await chain.payment(hexToBytes(mainnetPayment.id))).toMatchObject({ lockTime: BigInt(mainnetPayment.lockTime), state: 1n });
    });
  });
}
