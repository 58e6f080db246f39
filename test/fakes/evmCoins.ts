import type { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import type { AccountFunds } from "../../src/app/coin/evm/accountFunds.ts";
import { AllowanceKeeper } from "../../src/app/coin/evm/allowanceKeeper.ts";
import { ClaimTrials } from "../../src/app/coin/evm/claimTrials.ts";
import { EvmCoin } from "../../src/app/coin/evm/evmCoin.ts";
import { EvmSwapCoin } from "../../src/app/coin/evm/evmSwapCoin.ts";
import { NonceKeeper } from "../../src/app/coin/evm/nonceKeeper.ts";
import type { NonceLedger } from "../../src/app/coin/evm/nonceLedger.ts";
import { PayoutGate } from "../../src/app/coin/evm/payoutGate.ts";
import { TokenTrials } from "../../src/app/coin/evm/tokenTrials.ts";
import { parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { addressOfPubkey, type EvmAddress } from "../../src/core/evm/address.ts";
import { evmKind } from "../../src/core/evm/evmKind.ts";
import type { KeyPair } from "../../src/core/keys/keyPair.ts";
import type { FakeAccountChain } from "./fakeAccountChain.ts";
import { SilentLog } from "./silentLog.ts";

export const ETH_ENTRY = { coin: "ETH", mm2: 1, protocol: { type: "ETH", protocol_data: { chain_id: 1 } } };
/** A token without decimals. */
export const tokenEntry = (address: EvmAddress) => ({
  coin: "T",
  mm2: 1,
  decimals: 0,
  protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address: `0x${address}` } },
});

/** What the coins of one account share. */
export type AccountParts = {
  readonly chain: FakeAccountChain;
  readonly key: KeyPair;
  readonly nonces: NonceLedger;
  readonly funds: AccountFunds;
  readonly clock: VirtualClock;
};

/** An active coin of the account, 8 times the price of gas held for its swaps. */
export function evmCoinOf(
  entry: unknown,
  { chain, key, nonces, funds, clock }: AccountParts,
  isOwnToken: (ticker: string) => boolean = () => false,
): EvmCoin {
  const parsed = parseCoinEntry(JSON.parse(JSON.stringify(entry)));
  if (!parsed.ok) throw new Error("no entry of the coins file");
  const kind = evmKind(parsed.value);
  if (!kind.ok) throw new Error(kind.error.reason);
  const common = { orderbookTicker: null, walletOnly: false, minTradingVol: null, signMessagePrefix: null, hd: null };
  const swaps = { swapContract: null, fallbackSwapContract: null, confirmations: 1, notarization: false };
  const address = addressOfPubkey(key.publicKey);
  const account = { platform: "ETH", platformDecimals: 18, gas: kind.value.gas, signMessagePrefix: null, chain, key, address, nonces };
  const log = new SilentLog();
  const keeper = new NonceKeeper({ ...account, funds, clock, log });
  const allowances = new AllowanceKeeper({ ...account, funds, log });
  const tokens = new TokenTrials({ ...account, clock, log });
  const payouts = new PayoutGate({ ...account, log });
  const claims = new ClaimTrials({ ...account, clock, log });
  return new EvmCoin(
    { kind: kind.value, decimals: kind.value.decimals ?? 18, ...common, ...swaps },
    { ...account, funds, keeper, payouts, allowances, tokens, claims, clock },
    (coin) => new EvmSwapCoin(coin, 8, isOwnToken),
  );
}
