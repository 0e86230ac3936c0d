export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The key that marks special objects of the stored form. A user object with this key is stored as `plain`. */
export const tag = "$";

/** An object of the stored form that represents a value that JSON cannot express. */
export type Tagged = { readonly [tag]: string; readonly v?: Json; readonly f?: Json };

export function isTagged(json: Json): json is Tagged {
  return typeof json === "object" && json !== null && !Array.isArray(json) && Object.hasOwn(json, tag);
}
