import { readFileSync } from "node:fs";

type Hex = { readonly hex: string };
type Named = Hex & { readonly txid: string };

function load<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8")) as T;
}

export const kdfFacts = load<{
  readonly constructed: {
    readonly redeem: string;
    readonly lock: number;
    readonly paymentScript: string;
    readonly hashScript: string;
    readonly claim: Hex & { readonly sighash: string };
    readonly refund: Hex & { readonly sighash: string };
  };
  readonly extractSecret: Hex & { readonly secret: string; readonly secretHash: string; readonly lock: number; readonly redeemHash: string };
  readonly legacySpend: Hex & {
    readonly secret: string;
    readonly secretHash: string;
    readonly lock: number;
    readonly redeemHash: string;
    readonly sighash: string;
    readonly claimKey: string;
  };
  readonly sha256Swap: {
    readonly secret: string;
    readonly secretHash: string;
    readonly scriptHash: string;
    readonly lock: number;
    readonly amount: string;
    readonly refundKey: string;
    readonly claimKey: string;
    readonly branchId: number;
    readonly sighash: string;
    readonly takerPayment: Named;
    readonly spend: Hex;
    readonly fee: Hex & { readonly amount: string };
  };
  readonly fee: Named & { readonly takerKey: string; readonly amount: string };
  readonly feeKey: string;
}>("kdf-facts.json");

export const recordedSwaps = load<
  readonly {
    readonly uuid: string;
    readonly secretHash: string;
    readonly secret: string;
    readonly makerAmount: string;
    readonly takerAmount: string;
    readonly makerLock: number;
    readonly takerLock: number;
    readonly makerKey: string;
    readonly takerKey: string;
    readonly fee: Named;
    readonly makerPayment: Named;
    readonly takerPayment: Named;
    readonly takerPaymentSpend: Named;
    readonly makerPaymentSpend: Named;
  }[]
>("recorded-swaps.json");

export const chainTxs = load<{
  readonly litecoinHogEx: Named & { readonly weight: number };
  readonly litecoinWitness: Named & { readonly weight: number };
  readonly litecoinMixed: Named & { readonly weight: number };
  readonly litecoinPegIn: Named;
  readonly litecoinPegInMined: Named;
  readonly litecoinPegOut: Named & { readonly coinbase: string; readonly merkleRoot: string };
  readonly litecoinOnlyExtension: Named;
  readonly dashCoinbase: Named;
  readonly dashRegistration: Named;
  readonly dashUnlock: Named;
  readonly bitcoinCash: Named & { readonly secret: string; readonly amount: string; readonly script: string };
  readonly zip243: Named & { readonly amount: string; readonly script: string; readonly branchId: number; readonly sighash: string };
}>("chain-txs.json");

export const zip243Shielded = load<
  readonly (Hex & {
    readonly index: number;
    readonly hashType: number;
    readonly amount: string;
    readonly script: string;
    readonly branchId: number;
    readonly sighash: string;
  })[]
>("zip243-shielded.json");

export const schnorrVectors = load<
  readonly { readonly publicKey: string; readonly digest: string; readonly signature: string; readonly isValid: boolean }[]
>("schnorr.json");
