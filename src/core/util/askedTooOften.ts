/** Of what a server says so much is looked at. */
const MAX_CHARS = 300;
const TOO_OFTEN = /\brate.?limit|too many requests|\brequest limit|\bcapacity\b|throttl|\bquota\b/i;

/** Whether a server says that it is asked too often; there are many codes for that. */
export const saysTooOften = (said: string): boolean => TOO_OFTEN.test(said.slice(0, MAX_CHARS));

/** The same of one error for a whole batch, and not that it takes none: asked call by call it would be asked more often still. */
export const refusesForNow = (said: string): boolean => saysTooOften(said) && !/\bbatch/i.test(said.slice(0, MAX_CHARS));
