import { secretToWif } from "../../core/keys/wif.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { Secret } from "../../core/util/secret.ts";
import { addressToScript, parseAddress } from "../../core/utxo/address.ts";
import type { BuildError, BuiltTx } from "../../core/utxo/buildTx.ts";
import { convertAddress } from "../../core/utxo/convertAddress.ts";
import type { ExactFee, FeeRate } from "../../core/utxo/feeRate.ts";
import { sortUnspents, type Unspent } from "../../core/utxo/sortedUnspents.ts";
import type { Tx, TxOutput } from "../../core/utxo/tx.ts";
import { parseTx } from "../../core/utxo/txCodec.ts";
import type { ScanProgress, UtxoChainWithHistory } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ServerHealth, ServerNeeds } from "../../ports/electrum.ts";
import { onAbort } from "../../ports/onAbort.ts";
import { addressErrorText } from "./addressErrorText.ts";
import { type AnyAddressForm, isUtxoForm } from "./addressForm.ts";
import type { CoinSpec, CoinWallet } from "./coinSpec.ts";
import { convertErrorText } from "./convertErrorText.ts";
import { type AddressSelector, MessageSigner } from "./messageSigner.ts";
import type { TradeFee } from "./tradeFee.ts";
import { type ReadHistory, readHistory } from "./txHistory.ts";
import { UtxoSwapCoin } from "./utxoSwapCoin.ts";
import {
  holdSentBefore,
  type SendError,
  sendFinished,
  type Withdrawal,
  type WithdrawError,
  type WithdrawFrom,
  type WithdrawRequest,
  withdraw,
} from "./withdraw.ts";

/** An activated coin of the UTXO family: as orders and swaps use it, and as a wallet. */
export class UtxoCoin extends UtxoSwapCoin implements WithdrawFrom {
  readonly family = "utxo";
  readonly #closed = new AbortController();
  readonly #messages: MessageSigner;

  constructor(spec: CoinSpec, wallet: CoinWallet, chain: UtxoChainWithHistory, clock: Clock) {
    super(spec, wallet, chain, clock);
    this.#messages = new MessageSigner(spec, wallet);
  }

  override open(signal?: AbortSignal): Promise<void> {
    holdSentBefore(this);
    return super.open(signal);
  }

  override async close(): Promise<void> {
    this.#closed.abort();
    await super.close();
  }

  /** Miner fee per 1000 bytes: the answer of `get_trade_fee`. */
  async tradeFee(signal: AbortSignal): Promise<Result<TradeFee, never>> {
    await this.rates.refresh(signal);
    return ok({ coin: this.ticker, amount: this.whole(this.rate(null).perKb) });
  }

  validateAddress(address: string): Result<void, { readonly kind: "InvalidAddress"; readonly reason: string }> {
    const parsed = parseAddress(address, this.spec.kind.address);
    return parsed.ok ? ok(undefined) : err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, parsed.error) });
  }

  /** The key of the coin's own address, in wallet import format. */
  privKey(): Secret<string> {
    return secretToWif(this.wallet.key.secret, this.spec.kind.wifPrefix);
  }
  convertAddress(address: string, to: AnyAddressForm): Result<string, { readonly kind: "NotConvertible"; readonly reason: string }> {
    if (!isUtxoForm(to)) return err({ kind: "NotConvertible", reason: `${this.ticker} has no ${to.format} addresses` });
    const converted = convertAddress(address, to, this.spec.kind.address);
    return converted.ok ? converted : err({ kind: "NotConvertible", reason: convertErrorText(this.ticker, converted.error) });
  }
  accountInfo(): null {
    return null;
  }
  async rawTx(id: string): Promise<Uint8Array | null> {
    const followed = this.chain.tx(id);
    if (followed) return followed.raw;
    const [stored] = await this.chain.storedTxs([id]);
    return stored?.raw ?? null;
  }
  scanProgress(): ScanProgress | null {
    return this.chain.status().progress;
  }
  servers(): readonly ServerHealth[] {
    return this.chain.servers();
  }
  oldView(): { readonly state: "starting" | "syncing" | "unreachable"; readonly height: number | null } | null {
    const { state, tip } = this.chain.status();
    const shown = state === "ready" ? this.#crowdedView() : state;
    return shown === null ? null : { state: shown, height: tip?.height ?? null };
  }
  /** An own address may have been paid so often that no server tells what is there; null: all is seen. */
  #crowdedView(): "syncing" | "unreachable" | null {
    const crowded = this.wallet.scripts.map((script) => this.chain.crowded?.(script) ?? null);
    if (crowded.includes("unread")) return "unreachable";
    return crowded.includes("reading") ? "syncing" : null;
  }
  serverNeeds(): ServerNeeds | null {
    return this.chain.serverNeeds();
  }
  /** Null: it was not asked for at activation. */
  history(): ReadHistory | null {
    const { spec, wallet, chain, clock } = this;
    if (!spec.txHistory) return null;
    const of = {
      chain,
      clock,
      scripts: wallet.scripts,
      format: spec.kind.template.format,
      rules: spec.kind.address,
      decimals: this.decimals,
    };
    return (start, limit, signal) => readHistory(of, start, limit, signal);
  }
  tipHeight(): number {
    return this.chain.status().tip?.height ?? 0;
  }

  signMessage(message: string): ReturnType<MessageSigner["sign"]> {
    return this.#messages.sign(message);
  }
  signMessageAs(address: AddressSelector, message: string): ReturnType<MessageSigner["signAs"]> {
    return this.#messages.signAs(address, message);
  }
  verifyMessage(message: string, signature: string, address: string): ReturnType<MessageSigner["verify"]> {
    return this.#messages.verify(message, signature, address);
  }

  async withdraw(request: WithdrawRequest, signal: AbortSignal): Promise<Result<Withdrawal, WithdrawError>> {
    const { fee } = request;
    if (fee && fee.kind !== "fixed" && fee.kind !== "perKbyte")
      return err({ kind: "InvalidFeePolicy", reason: `Expected 'UtxoFixed' or 'UtxoPerKbyte' fee type, found ${fee.type}` });
    const script = addressToScript(request.to, this.spec.kind.address);
    if (!script.ok) return err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, script.error) });
    return withdraw(this, { ...request, fee }, script.value, signal);
  }

  async sendRaw(raw: Uint8Array, signal: AbortSignal): Promise<Result<string, SendError>> {
    const tx = parseTx(raw, this.spec.kind.template.format);
    if (!tx.ok) return err({ kind: "Rejected", message: `not a transaction of ${this.ticker}: ${tx.error.detail}` });
    return sendFinished(this, tx.value, raw, signal);
  }

  /** Reads bytes of anybody's transaction; null: they are none. */
  read(raw: Uint8Array): Tx | null {
    const tx = parseTx(raw, this.spec.kind.template.format);
    return tx.ok ? tx.value : null;
  }

  /** Runs `task` once after `delayMs`, unless the coin closes before. */
  after(delayMs: number, task: () => void): void {
    const cancel = this.clock.after(delayMs, () => {
      letGo();
      task();
    });
    const letGo = onAbort(this.#closed.signal, cancel);
  }

  isOwnScript(script: Uint8Array): boolean {
    return this.wallet.scripts.some((s) => equalBytes(s, script));
  }

  /** Builds from free outputs and signs; the inputs stay free until `ledger.lock`. For withdrawals. */
  buildAndSign(
    outputs: readonly TxOutput[],
    rate: FeeRate | ExactFee,
    feeFromOutput?: number,
  ): Result<{ readonly tx: Tx; readonly built: BuiltTx }, BuildError> {
    const built = this.ledger.select((unspents) => this.builder.build(unspents, outputs, rate, { feeFromOutput }));
    return built.ok ? ok({ tx: this.builder.sign(built.value.tx, built.value.spent), built: built.value }) : built;
  }

  /** All of these outputs into one own output, less the fee, signed. */
  buildMerge(unspents: readonly Unspent[], rate: FeeRate): Result<{ readonly tx: Tx; readonly built: BuiltTx }, BuildError> {
    const [script = new Uint8Array()] = this.wallet.scripts;
    const built = this.builder.build(sortUnspents(unspents), [{ value: unspents.reduce((n, u) => n + u.value, 0n), script }], rate, {
      feeFromOutput: 0,
    });
    return built.ok ? ok({ tx: this.builder.sign(built.value.tx, built.value.spent), built: built.value }) : built;
  }

  /** Fires when the coin is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }
}
