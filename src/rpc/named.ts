import type { z } from "zod";

/** Gives a shape the name it has in the generated documents and client types. Two shapes of one name must be alike. */
export const named = <T extends z.ZodType>(title: string, shape: T): T => shape.meta({ title });
