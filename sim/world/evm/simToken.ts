import { encodeWords } from "../../../src/core/evm/abi.ts";
import type { EvmAddress } from "../../../src/core/evm/address.ts";
import { toHex } from "../../../src/core/util/bytes.ts";
import { argumentsOf, customError, type Frame, type NativeContract, overflow, Revert, selectorIn, selectors, topicOf } from "./evmCall.ts";

const FUNCTIONS = selectors([
  "balanceOf(address)",
  "allowance(address,address)",
  "decimals()",
  "totalSupply()",
  "transfer(address,uint256)",
  "approve(address,uint256)",
  "transferFrom(address,address,uint256)",
]);
const TRANSFER = topicOf("Transfer(address,address,uint256)");
const APPROVAL = topicOf("Approval(address,address,uint256)");
const MOST = 2n ** 256n - 1n;
const READ_GAS = 3_000n;
const APPROVE_GAS = 25_000n;
const TRANSFER_GAS = 30_000n;

export type TokenManners = {
  readonly address: EvmAddress;
  readonly decimals: number;
  /** What transfers and approvals that went well return. Default `true`. */
  readonly answers?: "true" | "nothing";
  /** How a transfer fails: by a revert, or by `false` and nothing else. Default `revert`. */
  readonly failsBy?: "revert" | "false";
  /** An allowance must be zero before it becomes anything else but zero. */
  readonly resetFirst?: boolean;
};

/** An ERC-20 token, as honest as it is told to be. `feePercent`, `isPaused`, `mostAtOnce` and `moreGas` may change; no reorg takes that back. */
export class SimToken implements NativeContract {
  readonly address: EvmAddress;
  readonly decimals: number;
  /** Kept from what the receiver of a transfer gets, and given to the token's own address. */
  feePercent = 0n;
  /** While true, no transfer succeeds. */
  isPaused = false;
  /** Most that one transfer moves; null: any amount. */
  mostAtOnce: bigint | null = null;
  /** Gas of a transfer beyond the usual. */
  moreGas = 0n;
  readonly #manners: TokenManners;

  constructor(manners: TokenManners) {
    this.#manners = manners;
    this.address = manners.address;
    this.decimals = manners.decimals;
  }

  run(frame: Frame): { readonly output: Uint8Array; readonly gas: bigint } {
    const { state, data, from, value } = frame;
    if (value !== 0n) throw new Revert();
    const read = (word: bigint) => ({ output: encodeWords(["uint256"], [word]), gas: READ_GAS });
    switch (FUNCTIONS.get(selectorIn(data))) {
      case "balanceOf(address)":
        return read(state.token(this.address, ...argumentsOf(data, ["address"])));
      case "allowance(address,address)":
        return read(state.allowance(this.address, ...argumentsOf(data, ["address", "address"])));
      case "decimals()":
        return read(BigInt(this.decimals));
      case "totalSupply()":
        return read(state.totalOf(this.address));
      case "approve(address,uint256)":
        return { output: this.#approve(frame, ...argumentsOf(data, ["address", "uint256"])), gas: APPROVE_GAS };
      case "transfer(address,uint256)":
        return { output: this.move(frame, from, ...argumentsOf(data, ["address", "uint256"])), gas: TRANSFER_GAS + this.moreGas };
      case "transferFrom(address,address,uint256)":
        return {
          output: this.moveFor(frame, from, ...argumentsOf(data, ["address", "address", "uint256"])),
          gas: TRANSFER_GAS + this.moreGas,
        };
      default:
        throw new Revert();
    }
  }

  #answer(word: boolean): Uint8Array {
    return word && this.#manners.answers === "nothing" ? new Uint8Array(0) : encodeWords(["bool"], [word]);
  }

  #fail(reason: Revert): Uint8Array {
    if (this.#manners.failsBy === "false") return this.#answer(false);
    throw reason;
  }

  #approve({ state, logs, from }: Frame, spender: EvmAddress, amount: bigint): Uint8Array {
    const now = state.allowance(this.address, from, spender);
    if (this.#manners.resetFirst === true && now !== 0n && amount !== 0n) throw customError("ResetFirst");
    state.setAllowance(this.address, from, spender, amount);
    this.#log(logs, APPROVAL, from, spender, amount);
    return this.#answer(true);
  }

  /** `transferFrom` called by `spender`. @returns what it answers */
  moveFor(frame: Pick<Frame, "state" | "logs">, spender: EvmAddress, from: EvmAddress, to: EvmAddress, amount: bigint): Uint8Array {
    const allowed = frame.state.allowance(this.address, from, spender);
    if (allowed < amount) return this.#fail(overflow());
    const answer = this.move(frame, from, to, amount);
    if (allowed !== MOST && isYes(answer)) frame.state.setAllowance(this.address, from, spender, allowed - amount);
    return answer;
  }

  /** `transfer` called by `from`. @returns what it answers */
  move({ state, logs }: Pick<Frame, "state" | "logs">, from: EvmAddress, to: EvmAddress, amount: bigint): Uint8Array {
    if (this.isPaused || (this.mostAtOnce !== null && amount > this.mostAtOnce)) return this.#fail(new Revert());
    if (state.token(this.address, from) < amount) return this.#fail(overflow());
    const fee = (amount * this.feePercent) / 100n;
    state.addToken(this.address, from, -amount);
    state.addToken(this.address, to, amount - fee);
    state.addToken(this.address, this.address, fee);
    this.#log(logs, TRANSFER, from, to, amount - fee);
    return this.#answer(true);
  }

  #log(logs: Frame["logs"], topic: string, from: EvmAddress, to: EvmAddress, amount: bigint): void {
    const topics = [topic, toHex(encodeWords(["address"], [from])), toHex(encodeWords(["address"], [to]))];
    logs.push({ address: this.address, topics, data: encodeWords(["uint256"], [amount]) });
  }
}

/** What a careful caller takes for success: nothing, or the word 1. */
export const isYes = (answer: Uint8Array): boolean =>
  answer.length === 0 || (answer.length >= 32 && toHex(answer.subarray(0, 32)) === "1".padStart(64, "0"));
