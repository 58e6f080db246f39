import type { Method } from "../define.ts";
import { convertaddress } from "../methods/convertaddress.ts";
import { disableCoin } from "../methods/disableCoin.ts";
import { electrum } from "../methods/electrum.ts";
import { electrumServers } from "../methods/electrumServers.ts";
import { enable } from "../methods/enable.ts";
import { enableErc20 } from "../methods/enableErc20.ts";
import { enableEthWithTokens } from "../methods/enableEthWithTokens.ts";
import { ENABLE_UTXO_TASK } from "../methods/enableUtxoTask.ts";
import { getEnabledCoins, getEnabledCoinsV2 } from "../methods/getEnabledCoins.ts";
import { getLockedAmount } from "../methods/getLockedAmount.ts";
import { getRawTransaction } from "../methods/getRawTransaction.ts";
import { getSwapGasFeePolicy } from "../methods/getSwapGasFeePolicy.ts";
import { myBalance } from "../methods/myBalance.ts";
import { myTxHistory, myTxHistoryV2 } from "../methods/myTxHistory.ts";
import { sendRawTransaction } from "../methods/sendRawTransaction.ts";
import { setRequiredConfirmations } from "../methods/setRequiredConfirmations.ts";
import { setRequiresNotarization } from "../methods/setRequiresNotarization.ts";
import { setSwapGasFeePolicy } from "../methods/setSwapGasFeePolicy.ts";
import { showPrivKey } from "../methods/showPrivKey.ts";
import { signMessage } from "../methods/signMessage.ts";
import { validateaddress } from "../methods/validateaddress.ts";
import { verifyMessage } from "../methods/verifyMessage.ts";
import { withdraw } from "../methods/withdraw.ts";
import { WITHDRAW_TASK } from "../methods/withdrawTask.ts";

/** Coins of the wallet. In the order of the documents. */
export const WALLET_METHODS: readonly Method[] = [
  enable,
  electrum,
  ...ENABLE_UTXO_TASK,
  electrumServers,
  enableEthWithTokens,
  enableErc20,
  disableCoin,
  getEnabledCoins,
  getEnabledCoinsV2,
  myBalance,
  getLockedAmount,
  withdraw,
  ...WITHDRAW_TASK,
  sendRawTransaction,
  getRawTransaction,
  myTxHistory,
  myTxHistoryV2,
  validateaddress,
  convertaddress,
  getSwapGasFeePolicy,
  setSwapGasFeePolicy,
  setRequiredConfirmations,
  setRequiresNotarization,
  signMessage,
  verifyMessage,
  showPrivKey,
];
