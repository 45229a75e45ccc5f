#include "lib/answers/report/run_facts.hpp"

#include <gtest/gtest.h>

namespace offramp {
namespace {

TEST(CleanText, LettersOfAllScriptsStay) {
  for (const std::string text : {"plain ~", "Gr\u00f6\u00dfe", "\u4f8b", "\U0001F680", "\U0010FFFF"})
    EXPECT_EQ(clean_text(text), text);
}

TEST(CleanText, ControlCharactersAndInvalidBytesAreQuestionMarks) {
  EXPECT_EQ(clean_text("a\n\x1b\x7f"), "a???");
  EXPECT_EQ(clean_text("\xc2\x85"), "??");            // U+0085, a control character
  EXPECT_EQ(clean_text("\xc0\xaf|\xff"), "??|?");     // longer than needed; never valid
  EXPECT_EQ(clean_text("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(clean_text("\xf4\x90\x80\x80"), "????");  // above U+10FFFF
  EXPECT_EQ(clean_text("\xe4\xbe"), "??");            // cut off
}

}  // namespace
}  // namespace offramp
