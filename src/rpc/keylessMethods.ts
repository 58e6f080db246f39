import type { Method, Outcome } from "./define.ts";
import { DISPATCH_ERRORS } from "./dispatchErrors.ts";

const refusal = (name: string): Outcome => ({
  kind: "fault",
  fault: {
    kind: "NoKeys",
    http: DISPATCH_ERRORS.NoKeys.http,
    flatHttp: 500,
    type: "NoKeys",
    text: `${name} needs the keys of a wallet, and this node was started without any: set passphrase, or wallet_name and wallet_password, in MM2.json and start it again`,
    data: undefined,
    flatExtra: {},
  },
});

/** The methods as a node without keys has them: those that need some tell how to give them, and do nothing else. */
export const keylessMethods = (methods: readonly Method[]): readonly Method[] =>
  methods.map((method) => (method.needsKeys ? { ...method, run: async () => refusal(method.name) } : method));
