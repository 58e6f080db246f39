/** Whether a coin of this protocol lives on an account chain. Apart from all that handles those, which is loaded only for them. */
export const isEvmProtocol = (type: string): boolean => type === "ETH" || type === "ERC20";
