/** A filter of a list: one parameter of the address. */
export interface TextFilter {
  readonly kind: "text";
  /** Name of the parameter. */
  readonly id: string;
  readonly title: string;
  readonly placeholder?: string;
  /** Whether it is shown only on request, or while it has a value. */
  readonly isExtra?: boolean;
}

/** The uid of a group or an identity, which is chosen by its name. */
export interface ObjectFilter extends Omit<TextFilter, "kind"> {
  readonly kind: "group" | "identity";
}

export interface ChoiceFilter {
  readonly kind: "choice";
  readonly id: string;
  readonly title: string;
  /** Names the state without a choice; "All" if left out. */
  readonly placeholder?: string;
  readonly isExtra?: boolean;
  readonly choices: readonly { readonly value: string; readonly title: string }[];
}

export type Filter = TextFilter | ObjectFilter | ChoiceFilter;
