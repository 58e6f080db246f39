import { parseSwapCall, type SwapCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { toHex } from "../../../core/util/bytes.ts";

export type EndKind = "claim" | "refund";
export type OwnNonce = { readonly nonce: bigint; readonly raw: Uint8Array };

/** How calls end a payment. */
const ENDS: { readonly [kind in SwapCall["kind"]]?: EndKind } = { receiverSpend: "claim", senderRefund: "refund" };

/** `isWhole`: it was seen to bring all that it names. */
type TheirPayment = { readonly txid: string; readonly raw: Uint8Array; readonly isWhole: boolean };

/** Transactions whose bytes swaps have, and what they do to payments: what is known of them where no node shows them. All but `theirs` are own ones. */
export class KnownCalls {
  /** By txid: the ledger forgets nonces that were used long ago. */
  readonly #stored = new Map<string, OwnNonce>();
  /** Transactions that pay into a contract, by payment id. */
  readonly #payers = new Map<string, Set<string>>();
  /** Those that end a payment, by its id. */
  readonly #ends = new Map<string, Map<string, EndKind>>();
  /** Payments of the other side, by their id. */
  readonly #theirs = new Map<string, TheirPayment>();

  /** One that a swap has stored, perhaps long ago, or is about to. */
  add({ txid, tx, raw }: SignedEvmTx): void {
    this.#stored.set(txid, { nonce: tx.nonce, raw });
    const call = parseSwapCall(tx.data);
    const kind = call.ok ? ENDS[call.value.kind] : undefined;
    if (!call.ok || kind === undefined) return;
    const id = toHex(call.value.id);
    this.#ends.set(id, (this.#ends.get(id) ?? new Map<string, EndKind>()).set(txid, kind));
  }
  /** It pays under this id, as soon as it is mined. */
  addPayer(id: string, txid: string): void {
    this.#payers.set(id, (this.#payers.get(id) ?? new Set<string>()).add(txid));
  }
  addTheirs({ txid, tx, raw }: SignedEvmTx, isWhole: boolean): void {
    const call = parseSwapCall(tx.data);
    if (call.ok && (call.value.kind === "ethPayment" || call.value.kind === "erc20Payment"))
      this.#theirs.set(toHex(call.value.id), { txid, raw, isWhole });
  }
  /** It never left, or nobody asks for it any more. */
  drop(txid: string): void {
    this.#stored.delete(txid);
    for (const ends of this.#ends.values()) ends.delete(txid);
  }
  forgetPayment(id: string): void {
    this.#payers.delete(id);
    this.#ends.delete(id);
    this.#theirs.delete(id);
  }

  stored(txid: string): OwnNonce | undefined {
    return this.#stored.get(txid);
  }
  theirs(id: string): TheirPayment | undefined {
    return this.#theirs.get(id);
  }
  payers(id: string): readonly string[] {
    return [...(this.#payers.get(id) ?? [])];
  }
  /** The newest first. */
  enders(id: string, kind: EndKind): readonly string[] {
    return [...(this.#ends.get(id) ?? [])].flatMap(([txid, does]) => (does === kind ? txid : [])).reverse();
  }
}
