import { encodeWords } from "../../../src/core/evm/abi.ts";
import { type EvmAddress, ZERO_ADDRESS } from "../../../src/core/evm/address.ts";
import { type PaymentState, paymentHash, SWAP_TOPICS } from "../../../src/core/evm/swapContract.ts";
import { equalBytes, toHex } from "../../../src/core/util/bytes.ts";
import { hash160 } from "../../../src/core/utxo/hash.ts";
import { argumentsOf, customError, type Frame, type NativeContract, Revert, selectorIn, selectors } from "./evmCall.ts";
import { isYes, type SimToken } from "./simToken.ts";

// contracts/SwapnodeSwap.sol, step by step; test/sim/evmOnAnvil.test.ts compares the two.

const FUNCTIONS = selectors([
  "ethPayment(bytes32,address,bytes20,uint64)",
  "erc20Payment(bytes32,uint256,address,address,bytes20,uint64)",
  "receiverSpend(bytes32,uint256,bytes32,address,address)",
  "senderRefund(bytes32,uint256,bytes20,address,address)",
  "spendFor(bytes32,uint256,bytes32,address,address,address)",
  "refundFor(bytes32,uint256,bytes20,address,address,address)",
  "payments(bytes32)",
]);
const STATES: readonly PaymentState[] = ["uninitialized", "sent", "spent", "refunded"];
const NOTHING = new Uint8Array(0);
/** Without calldata; measured on anvil, rounded up. */
const GAS = { nativePayment: 27_500n, tokenPayment: 85_000n, nativePayout: 22_500n, tokenPayout: 56_000n, read: 3_000n };

type Terms = {
  readonly id: Uint8Array;
  readonly amount: bigint;
  readonly secretHash: Uint8Array;
  readonly token: EvmAddress;
  readonly sender: EvmAddress;
  readonly receiver: EvmAddress;
};

/** The swap contract. */
export class SimSwapContract implements NativeContract {
  readonly address: EvmAddress;
  readonly #tokens: ReadonlyMap<EvmAddress, SimToken>;
  /** Whether there is code at an address: none here takes the native coin by itself. */
  readonly #isContract: (address: EvmAddress) => boolean;

  readonly #trustsTokens: () => boolean;

  /** @param trustsTokens never asks for its balance: not as ours, but as others do */
  constructor(
    address: EvmAddress,
    tokens: ReadonlyMap<EvmAddress, SimToken>,
    isContract: (address: EvmAddress) => boolean,
    trustsTokens: () => boolean,
  ) {
    this.#trustsTokens = trustsTokens;
    this.address = address;
    this.#tokens = tokens;
    this.#isContract = isContract;
  }

  run(frame: Frame): { readonly output: Uint8Array; readonly gas: bigint } {
    const { data, from, value } = frame;
    const name = FUNCTIONS.get(selectorIn(data));
    if (name !== "ethPayment(bytes32,address,bytes20,uint64)" && value !== 0n) throw new Revert();
    switch (name) {
      case "ethPayment(bytes32,address,bytes20,uint64)": {
        const [id, receiver, secretHash, lockTime] = argumentsOf(data, ["bytes32", "address", "bytes20", "uint64"]);
        this.#open(frame, { id, receiver, secretHash, sender: from, token: ZERO_ADDRESS, amount: value }, lockTime);
        return { output: NOTHING, gas: GAS.nativePayment };
      }
      case "erc20Payment(bytes32,uint256,address,address,bytes20,uint64)": {
        const types = ["bytes32", "uint256", "address", "address", "bytes20", "uint64"] as const;
        const [id, amount, token, receiver, secretHash, lockTime] = argumentsOf(data, types);
        this.#open(frame, { id, receiver, secretHash, sender: from, token, amount }, lockTime);
        this.#take(frame, token, from, amount);
        return { output: NOTHING, gas: GAS.tokenPayment + this.#moreGas(token) };
      }
      case "receiverSpend(bytes32,uint256,bytes32,address,address)": {
        const [id, amount, secret, token, sender] = argumentsOf(data, ["bytes32", "uint256", "bytes32", "address", "address"]);
        return this.#spend(frame, { id, amount, secretHash: hash160(secret), token, sender, receiver: from }, secret);
      }
      case "spendFor(bytes32,uint256,bytes32,address,address,address)": {
        const types = ["bytes32", "uint256", "bytes32", "address", "address", "address"] as const;
        const [id, amount, secret, token, sender, receiver] = argumentsOf(data, types);
        return this.#spend(frame, { id, amount, secretHash: hash160(secret), token, sender, receiver }, secret);
      }
      case "senderRefund(bytes32,uint256,bytes20,address,address)": {
        const [id, amount, secretHash, token, receiver] = argumentsOf(data, ["bytes32", "uint256", "bytes20", "address", "address"]);
        return this.#refund(frame, { id, amount, secretHash, token, sender: from, receiver });
      }
      case "refundFor(bytes32,uint256,bytes20,address,address,address)": {
        const types = ["bytes32", "uint256", "bytes20", "address", "address", "address"] as const;
        const [id, amount, secretHash, token, sender, receiver] = argumentsOf(data, types);
        return this.#refund(frame, { id, amount, secretHash, token, sender, receiver });
      }
      case "payments(bytes32)": {
        const [id] = argumentsOf(data, ["bytes32"]);
        const { paymentHash: stored, lockTime, state } = frame.state.payment(this.address, toHex(id));
        const words = [stored, lockTime, BigInt(STATES.indexOf(state))] as const;
        return { output: encodeWords(["bytes20", "uint64", "uint8"], words), gas: GAS.read };
      }
      default:
        throw new Revert();
    }
  }

  #log({ logs }: Frame, topic: string, ...words: readonly Uint8Array[]): void {
    const data = new Uint8Array(32 * words.length);
    for (const [i, word] of words.entries()) data.set(word, 32 * i);
    logs.push({ address: this.address, topics: [topic], data });
  }

  #open(frame: Frame, terms: Terms, lockTime: bigint): void {
    const { id, amount, receiver } = terms;
    if (amount === 0n) throw customError("ZeroAmount");
    if (receiver === ZERO_ADDRESS || receiver === this.address) throw customError("ReceiverRefused");
    const { state } = frame.state.payment(this.address, toHex(id));
    if (state !== "uninitialized") throw customError("IdUsed");
    frame.state.setPayment(this.address, toHex(id), { paymentHash: paymentHash(terms), lockTime, state: "sent" });
    this.#log(frame, SWAP_TOPICS.sent, id);
  }

  #spend(frame: Frame, terms: Terms, secret: Uint8Array): { readonly output: Uint8Array; readonly gas: bigint } {
    this.#end(frame, terms, "spent");
    this.#log(frame, SWAP_TOPICS.spent, terms.id, secret);
    return this.#pay(frame, terms, terms.receiver);
  }

  #refund(frame: Frame, terms: Terms): { readonly output: Uint8Array; readonly gas: bigint } {
    this.#end(frame, terms, "refunded");
    this.#log(frame, SWAP_TOPICS.refunded, terms.id);
    return this.#pay(frame, terms, terms.sender);
  }

  #end({ state, timeSec }: Frame, terms: Terms, end: "spent" | "refunded"): void {
    const id = toHex(terms.id);
    const payment = state.payment(this.address, id);
    if (payment.state !== "sent") throw customError("NotOpen");
    if (!equalBytes(payment.paymentHash, paymentHash(terms))) throw customError("WrongTerms");
    if (end === "refunded" && timeSec < payment.lockTime) throw customError("TooEarly");
    state.setPayment(this.address, id, { ...payment, state: end });
  }

  #pay(frame: Frame, { token, amount }: Terms, to: EvmAddress): { readonly output: Uint8Array; readonly gas: bigint } {
    const { state } = frame;
    if (token === ZERO_ADDRESS) {
      if (this.#isContract(to)) throw customError("PayoutRefused");
      state.addWei(this.address, -amount);
      state.addWei(to, amount);
      return { output: NOTHING, gas: GAS.nativePayout };
    }
    const before = state.token(token, this.address);
    this.#ask(token, (found) => found.move(frame, this.address, to, amount));
    if (state.token(token, this.address) + amount < before) throw customError("TokenAmountDiffers");
    return { output: NOTHING, gas: GAS.tokenPayout + this.#moreGas(token) };
  }

  #moreGas(token: EvmAddress): bigint {
    return this.#tokens.get(token)?.moreGas ?? 0n;
  }

  #take(frame: Frame, token: EvmAddress, from: EvmAddress, amount: bigint): void {
    const { state } = frame;
    const before = state.token(token, this.address);
    this.#ask(token, (found) => found.moveFor(frame, this.address, from, this.address, amount));
    if (!this.#trustsTokens() && state.token(token, this.address) !== before + amount) throw customError("TokenAmountDiffers");
  }

  #ask(token: EvmAddress, call: (token: SimToken) => Uint8Array): void {
    const found = this.#tokens.get(token);
    if (found === undefined) throw customError("TokenRefused");
    let answer: Uint8Array;
    try {
      answer = call(found);
    } catch (cause) {
      if (cause instanceof Revert) throw customError("TokenRefused");
      throw cause;
    }
    if (!isYes(answer)) throw customError("TokenRefused");
  }
}
