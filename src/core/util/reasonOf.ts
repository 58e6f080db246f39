/** What something that was thrown says, for a sentence or a line of the log. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
