/** What the dispatcher itself refuses in the versioned form (reference rpc.md 1.8). */
export const DISPATCH_ERRORS = {
  InvalidMmRpcVersion: { http: 400, when: "`mmrpc` is present and not `2.0`." },
  InvalidRequest: { http: 400, when: "The body or `params` has not the declared shape; told before the password is looked at." },
  LocalHostOnly: { http: 403, when: "`rpc_local_only`, and the call comes from another machine." },
  Banned: { http: 403, when: "Ten wrong passwords came from this address; it is refused for ten minutes." },
  UserpassIsNotSet: { http: 403, when: "`userpass` is missing." },
  UserpassIsInvalid: { http: 403, when: "`userpass` is wrong; `error_data` has the attempts left." },
  NoSuchMethod: { http: 400, when: "There is no such method in this form; `error_data` says so of one that is called in the flat form." },
  NoKeys: { http: 500, when: "The node was started without keys, and the method needs some." },
  Timeout: {
    http: 408,
    when: "No answer in time, or the call was cut short, as when its coin is disabled or the node stops. What the call began may still finish.",
  },
  InternalError: { http: 500, when: "A fault of the node; its log has the details." },
} as const;

export type DispatchErrorType = keyof typeof DISPATCH_ERRORS;
