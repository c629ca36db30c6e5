/** The element of a button. While the button loads, it keeps the focus, which the attribute `disabled` would take from it. */
import type { ComponentProps, MouseEvent } from "react";

export function ButtonRoot({ disabled, onClick, ...props }: ComponentProps<"button">) {
  const isLoading = (props as { readonly "data-loading"?: boolean })["data-loading"] === true;
  // The default action of a click on a submit button sends its form.
  const ignore = (event: MouseEvent) => event.preventDefault();
  if (isLoading) return <button type="button" {...props} aria-disabled onClick={ignore} />;
  return <button type="button" {...props} disabled={disabled} onClick={onClick} />;
}
