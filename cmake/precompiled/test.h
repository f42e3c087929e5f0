// Read once for all test sources.
#pragma once

#include <gtest/gtest.h>

#include "product.h"
