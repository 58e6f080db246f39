import type { Method } from "../define.ts";
import { disableCoin } from "../methods/disableCoin.ts";
import { enable } from "../methods/enable.ts";
import { getEnabledCoins, getEnabledCoinsV2 } from "../methods/getEnabledCoins.ts";
import { myBalance } from "../methods/myBalance.ts";
import { sendRawTransaction } from "../methods/sendRawTransaction.ts";
import { setRequiredConfirmations } from "../methods/setRequiredConfirmations.ts";
import { setRequiresNotarization } from "../methods/setRequiresNotarization.ts";
import { signMessage } from "../methods/signMessage.ts";
import { validateaddress } from "../methods/validateaddress.ts";
import { verifyMessage } from "../methods/verifyMessage.ts";
import { withdraw } from "../methods/withdraw.ts";

/** Coins of the wallet. In the order of the documents. */
export const WALLET_METHODS: readonly Method[] = [
  enable,
  disableCoin,
  getEnabledCoins,
  getEnabledCoinsV2,
  myBalance,
  withdraw,
  sendRawTransaction,
  validateaddress,
  setRequiredConfirmations,
  setRequiresNotarization,
  signMessage,
  verifyMessage,
];
