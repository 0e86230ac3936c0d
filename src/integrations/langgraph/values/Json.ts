/** A value in its stored form. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The key that names what an object of the stored form stands for. An object of the user's that has it is stored as a `plain` one. */
export const tag = "$";

/** An object of the stored form that stands for something which JSON cannot say. */
export type Tagged = { readonly [tag]: string; readonly v?: Json; readonly f?: Json };

export function isTagged(json: Json): json is Tagged {
  return typeof json === "object" && json !== null && !Array.isArray(json) && Object.hasOwn(json, tag);
}
