import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { err, ok, type Result } from "../core/util/result.ts";

/** Options of a command; anything else among the arguments is an error, one sentence. */
export function readOptions<const T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
): Result<ReturnType<typeof parseArgs<{ options: T }>>["values"], string> {
  try {
    return ok(parseArgs({ args: [...args], options }).values);
  } catch (cause) {
    const isUsage = cause instanceof TypeError && "code" in cause && String(cause.code).startsWith("ERR_PARSE_ARGS_");
    if (!isUsage) throw cause;
    // Node adds advice on a second sentence.
    return err(cause.message.split(". ")[0] ?? cause.message);
  }
}
