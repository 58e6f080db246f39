import { addressErrorText } from "../../../src/app/coin/addressErrorText.ts";
import { type AnyAddressForm, isUtxoForm } from "../../../src/app/coin/addressForm.ts";
import { convertErrorText } from "../../../src/app/coin/convertErrorText.ts";
import type { AccountInfo } from "../../../src/app/coin/evmParts.ts";
import type { TradeFee } from "../../../src/app/coin/tradeFee.ts";
import type { WithdrawRequest } from "../../../src/app/coin/withdraw.ts";
import type { Outage } from "../../../src/app/tradingCoin.ts";
import { verifyMessage } from "../../../src/core/keys/signMessage.ts";
import { add, lt, type Rational, sub, ZERO } from "../../../src/core/money/rational.ts";
import { fromHex } from "../../../src/core/util/bytes.ts";
import { err, ok, type Result } from "../../../src/core/util/result.ts";
import { Secret } from "../../../src/core/util/secret.ts";
import { type AddressRules, parseAddress } from "../../../src/core/utxo/address.ts";
import { convertAddress } from "../../../src/core/utxo/convertAddress.ts";
import type { ServerHealth, ServerNeeds } from "../../../src/ports/electrum.ts";
import type { BadSelector, RpcCoin, SignMessageError, VerifyMessageError } from "../../../src/rpc/ctx/coins.ts";
import { FakeTradingCoin } from "../fakeTradingCoin.ts";

/** Key, address and one signature of the node whose replies were recorded (test/vectors/rpc). */
export const NODE_KEY = "03fa9e4fb4432e2d1d0fef27cec588ea4ca580dfe29fa279831913f5ee5f9970ac";
export const ADDRESS = "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU";
const HELLO_SIGNATURE = "ICNApAkj09iMYRghL4NMT/ohd+LBrn1Oqn3Pp3vuWp/yFRoGfHYNcL6TdI7XLY6SFeXAERYi86e7QvwgdCzQaaA=";
/** A coin of this ticker stands for the kinds that neither sign nor check messages. */
export const MUTE = "MUTE";
const PREFIX = "Komodo Signed Message:\n";
const TXID = `${"0".repeat(63)}1`;
/** A transaction the fake daemon takes. */
const GOOD_TX = "0400008085202f89";

const RULES: AddressRules = {
  p2pkhPrefix: Uint8Array.of(60),
  p2shPrefix: Uint8Array.of(85),
  hrp: null,
  segwit: false,
  cashPrefix: null,
  format: "standard",
};

/** A coin with a number for a balance, behind the wallet methods, too. */
export class FakeRpcCoin extends FakeTradingCoin implements RpcCoin {
  readonly matureConfirmations = 100;
  override readonly address: string = ADDRESS;
  override readonly htlcPubkey = Uint8Array.from(fromHex(NODE_KEY));

  unspendable(): Rational {
    return ZERO;
  }
  async tradeFee(): Promise<Result<TradeFee, Outage>> {
    return ok({ coin: this.ticker, amount: this.fee });
  }
  setRequiredConfirmations(confirmations: number): void {
    this.settings.confirmations = confirmations;
  }
  setRequiresNotarization(required: boolean): void {
    this.settings.notarization = required;
  }
  /** The number 1: the key of the recorded node is not known. */
  privKey(): Secret<string> {
    return new Secret("Up1YVLk7uuErCHVQyFCtfinZngmdwfyfc47WCQ8oJxgowjVzNeqs");
  }
  convertAddress(address: string, to: AnyAddressForm): Result<string, { readonly kind: "NotConvertible"; readonly reason: string }> {
    if (!isUtxoForm(to)) return err({ kind: "NotConvertible", reason: `${this.ticker} has no ${to.format} addresses` });
    const converted = convertAddress(address, to, RULES);
    return converted.ok ? converted : err({ kind: "NotConvertible", reason: convertErrorText(this.ticker, converted.error) });
  }
  accountInfo(): AccountInfo | null {
    return null;
  }
  async rawTx(txid: string): Promise<Uint8Array | null> {
    return txid === TXID ? fromHex(GOOD_TX) : null;
  }
  history(): null {
    return null;
  }
  oldView(): null {
    return null;
  }
  serverNeeds(): ServerNeeds {
    return { minConnected: 1, warning: "DOC makes do with one Electrum server when others are away." };
  }
  servers(): readonly ServerHealth[] {
    return [
      {
        ...{ name: "electrum1.example.com:50002", state: "connected", height: 100, latencyMs: 42, contradictions: 0, calls: 17 },
        trouble: null,
      },
      {
        ...{ name: "electrum2.example.com:50002", state: "dropped", height: 99, latencyMs: 51.5, contradictions: 1, calls: 9 },
        trouble: "its branch does not lead to the header of block 99",
      },
    ];
  }
  scanProgress(): null {
    return null;
  }
  tipHeight(): number {
    return 100;
  }
  validateAddress(address: string): Result<void, { readonly kind: "InvalidAddress"; readonly reason: string }> {
    const parsed = parseAddress(address, RULES);
    return parsed.ok ? ok(undefined) : err({ kind: "InvalidAddress", reason: addressErrorText(this.ticker, parsed.error) });
  }
  /** Knows one signature: the key of the recorded node is not known. */
  signMessage(message: string): Result<string, SignMessageError> {
    if (this.ticker === MUTE) return err({ kind: "NotSupported" });
    return message === "hello" ? ok(HELLO_SIGNATURE) : err({ kind: "PrefixNotFound" });
  }
  signMessageAs(): Result<string, BadSelector> {
    return err({ kind: "BadSelector", reason: "this fake has one address" });
  }
  verifyMessage(message: string, signature: string, address: string): Result<boolean, VerifyMessageError> {
    if (this.ticker === MUTE) return err({ kind: "NotSupported" });
    const parsed = parseAddress(address, RULES);
    if (!parsed.ok) return err({ kind: "AddressDecoding", message: addressErrorText(this.ticker, parsed.error) });
    const checked = verifyMessage(PREFIX, message, signature, parsed.value.hash);
    if (checked.ok) return checked;
    const { error } = checked;
    return err(error.kind === "InvalidSignature" ? error : { kind: "SignatureDecoding", message: error.reason });
  }
  async withdraw({ to, amount, fee }: WithdrawRequest): ReturnType<RpcCoin["withdraw"]> {
    if (fee && fee.kind !== "fixed" && fee.kind !== "perKbyte")
      return err({ kind: "InvalidFeePolicy", reason: `Expected 'UtxoFixed' or 'UtxoPerKbyte' fee type, found ${fee.type}` });
    if (amount === "max") return err({ kind: "ZeroBalanceToWithdrawMax" });
    const required = add(amount, this.fee);
    if (lt(this.spendable(), required)) {
      return err({ kind: "NotSufficientBalance", coin: this.ticker, available: this.spendable(), required });
    }
    const total = this.spendable();
    const received = sub(total, required);
    return ok({
      raw: fromHex(GOOD_TX),
      txid: TXID,
      from: [this.address],
      to: [to],
      total,
      spentByMe: total,
      receivedByMe: received,
      fee: this.fee,
    });
  }
  async sendRaw(raw: Uint8Array): ReturnType<RpcCoin["sendRaw"]> {
    return raw.length === fromHex(GOOD_TX).length ? ok(TXID) : err({ kind: "Rejected", message: "TX decode failed" });
  }
}
